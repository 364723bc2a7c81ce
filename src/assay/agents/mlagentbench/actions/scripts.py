"""Actions that run code, all of it in the lab."""

import re
from typing import Annotated

from assay.agents.mlagentbench.actions.files import LARGEST_FILE, LOOK_SECONDS
from assay.agents.mlagentbench.actions.model import ActionContext, action
from assay.agents.mlagentbench.actions.paths import argument, plain
from assay.agents.mlagentbench.actions.shortened import both_streams, shortened
from assay.agents.observation import ActionFailed, Cause, Observation
from assay.lab.interface import Completed, Ended

OUT_OF_MEMORY = re.compile(r"\bMemoryError\b|\bout of memory\b|Cannot allocate memory", re.IGNORECASE)
LIMITS: dict[Ended, tuple[Cause, str]] = {
    "time": ("time", "was ended because its time was up"),
    "memory": ("memory", "was ended because it used more memory than there is"),
    "disk": ("disk", "was ended because it filled the disk"),
    "output": ("output", "was ended because it printed too much"),
}


@action("Execute Script", returns="how the script ended, and what it printed on standard output and standard error")
async def execute_script(
    means: ActionContext, script_name: Annotated[str, "the Python script to run, such as `train.py`"]
) -> Observation:
    """Run a Python script that exists already, with the workspace as its current folder."""
    path = plain(script_name)
    await _check_script(means, path, script_name)
    completed = await means.bench.execute(["python", "-u", argument(path)], seconds=means.script_seconds)
    printed = both_streams(completed, means.longest_output)
    cause, how = _how_it_ended(completed)
    return Observation(f"{script_name} {how} after {completed.seconds:.1f} seconds.\n\n{printed}", cause)


@action("Python REPL", returns="what the command printed, and the value of an expression at its end")
async def python_repl(means: ActionContext, command: Annotated[str, "Python code of one or more lines"]) -> Observation:
    """Run Python code in a session that keeps its variables from one command to the next. It runs in the workspace;
    between commands nothing in it moves, not even processes that it started."""
    said = await means.bench.say_to_session(command, seconds=means.session_seconds)
    lost = "The earlier session was interrupted: this is a new one, without its variables.\n\n" if said.lost else ""
    printed = shortened(said.output.rstrip(), means.longest_output)
    if said.ended is None:
        return Observation(f"{lost}{printed or 'It printed nothing.'}")
    cause, how = LIMITS.get(said.ended, ("crash", "has ended"))
    told = f"{lost}The session {how}, {said.seconds:.1f} seconds after the command; the next command begins a new one."
    return Observation(f"{told}\n\n{printed}".strip(), cause)


async def _check_script(means: ActionContext, path: str, name: str) -> None:
    """Only a plain file is run: what is checked is what lies there, not what a link may point to later."""
    looked = await means.bench.execute(
        ["find", argument(path), "-maxdepth", "0", "-type", "f", "-size", f"-{LARGEST_FILE}c"],
        seconds=LOOK_SECONDS,
        changes=False,
    )
    if not looked.stdout.total:
        raise ActionFailed(
            "refused", f"{name!r} is not a script of the workspace: there is no plain file of that name."
        )


def _how_it_ended(completed: Completed) -> tuple[Cause | None, str]:
    if completed.ended in LIMITS:
        return LIMITS[completed.ended]
    if completed.ended == "signal":
        return "crash", f"was ended by signal {completed.code - 128}"
    if completed.succeeded:
        return None, "ended well"
    cause: Cause = "memory" if OUT_OF_MEMORY.search(completed.stderr.text) else "crash"
    return cause, f"failed with exit code {completed.code}"
