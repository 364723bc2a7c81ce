"""Solvers as users write them: plain Inspect, without Assay."""

import json

from inspect_ai.agent import as_solver, react
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import bash
from inspect_ai.util import sandbox, store

BETTER = """python - <<'END'
import csv
import numpy
from PIL import Image

train, test = (list(csv.DictReader(open(f"data/{name}.csv"))) for name in ("train", "test"))
pixels = lambda rows: numpy.stack([numpy.asarray(Image.open(f"data/{row['image']}"), float).ravel() for row in rows])
known, new = pixels(train), pixels(test)
nearest = ((known**2).sum(axis=1) - 2 * new @ known.T).argmin(axis=1)
with open("submission.csv", "w") as out:
    out.write("image,label\\n")
    out.writelines(f"{row['image']},{train[place]['label']}\\n" for row, place in zip(test, nearest))
END"""

LOOK = """
import json, os, pathlib, socket

def tried(do):
    try:
        return str(do())
    except OSError as error:
        return type(error).__name__

def answers():
    return [str(path) for folder, _, names in os.walk("/") for path in map(pathlib.Path(folder).joinpath, names)
            if "answers" in path.name and "/opt/env/" not in str(path)]

print(json.dumps({
    "answers": answers(),
    "home": tried(lambda: os.listdir(os.environ["HOST_HOME"])),
    "shadow": tried(lambda: open("/etc/shadow").read()),
    "variables": [name for name in os.environ if "KEY" in name],
    "processes": [pathlib.Path(f"/proc/{name}/cmdline").read_bytes().decode() for name in os.listdir("/proc")
                  if name.isdigit()],
    "network": tried(lambda: socket.create_connection(("127.0.0.1", int(os.environ["PORT"])), timeout=5)),
}))
"""


@solver
def with_bash() -> Solver:
    """A ReAct agent with the bash tool and a scripted model; on tasks other than digits it submits nothing."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        replies = [call("bash", command=BETTER)] if state.sample_id == "digits" else []
        model = get_model("mockllm/model", custom_outputs=[*replies, call("submit", answer="done")])
        return await as_solver(react(tools=[bash(timeout=100)], model=model))(state, generate)

    return solve


def call(name: str, **arguments: str) -> ModelOutput:
    """A reply that calls a tool."""
    output = ModelOutput.for_tool_call("mockllm/model", name, arguments)
    output.usage = ModelUsage(input_tokens=10, output_tokens=5, total_tokens=15)
    return output


@solver
def hostile(answers: str, home: str, port: int) -> Solver:
    """Looks for the answers from inside, and submits a link to where they are on the host."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        env = {"HOST_HOME": home, "PORT": str(port)}
        looked = await sandbox().exec(["python", "-c", LOOK], env=env, timeout=100)
        store().set("seen", json.loads(looked.stdout))
        refused = []
        for path in (answers, "../../data/pocket", "/etc/passwd"):
            try:
                await sandbox().read_file(path)
            except PermissionError:
                refused.append(path)
        await sandbox().exec(["ln", "-sf", answers, "submission.csv"])
        try:
            await sandbox().read_file("submission.csv")
        except PermissionError:
            refused.append("submission.csv")
        store().set("refused", refused)
        return state

    return solve
