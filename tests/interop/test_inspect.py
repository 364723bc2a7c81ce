"""Assay's suites under Inspect: any solver, the lab as sandbox, the grade as score; and runs as logs of Inspect.

Inspect takes seconds to import, so only the tests that use it do.
"""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest

from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.data.store import load_prepared, prepare
from assay.interop.inspect.machine_lock import MachineLock
from assay.tasks import Registry

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog

SOLVERS = Path(__file__).with_name("solvers.py")
DIGITS = Registry().task("pocket/digits")


@pytest.fixture(scope="module")
def prepared_digits(shared_home) -> Home:
    """A home of this module alone, in which the digits are prepared."""
    return shared_home("digits", lambda home: prepare(home, DIGITS, progress=NoProgress()))


@pytest.fixture
def digits_home(prepared_digits: Home, monkeypatch: pytest.MonkeyPatch) -> Home:
    """This home, as the one that Assay uses."""
    monkeypatch.setenv("ASSAY_HOME", str(prepared_digits.root))
    return prepared_digits


def inspect_command(home: Home, tmp_path: Path, *words: str) -> "EvalLog":
    """Run `inspect eval` as a user does, and return the log that it wrote."""
    from inspect_ai.log import list_eval_logs, read_eval_log

    command = [sys.executable, "-m", "inspect_ai", "eval", *words, "--model", "none", "--display", "plain"]
    done = subprocess.run(
        [*command, "--log-dir", str(tmp_path)],
        env=os.environ | {"ASSAY_HOME": str(home.root)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (log,) = list_eval_logs(str(tmp_path))
    return read_eval_log(log)


@pytest.mark.slow
def test_any_solver_gets_a_graded_score(pocket_home: Home, tmp_path: Path) -> None:
    options = ["assay/pocket", "-T", "tasks=digits,house-price", "-T", "time=5m"]
    log = inspect_command(pocket_home, tmp_path, *options, "--solver", f"{SOLVERS}@with_bash")
    assert log.status == "success" and log.samples and log.results
    digits, houses = sorted(log.samples, key=lambda sample: str(sample.id))
    assert digits.scores and houses.scores
    good, nothing = digits.scores["grade"], houses.scores["grade"]
    assert good.as_dict()["score"] > 0.7
    assert (good.as_dict()["valid"], good.as_dict()["success"]) == (1, 1)
    assert good.metadata and good.metadata["sealed"] and good.metadata["improvement"] > 0.1
    assert good.metadata["rank"] <= good.metadata["panel_size"] and good.metadata["medal"] is None
    assert "Handwritten digits" in str(digits.input) and "5m of time and 50 steps" in str(digits.input)
    assert (nothing.as_dict()["valid"], nothing.as_dict()["success"]) == (0, 0)
    assert nothing.explanation == "No submission: 'submission.csv' does not exist."
    success, valid = log.results.scores
    # Of the two values 1 and 0, the mean is 1/2 and the standard error sqrt(1/2) / sqrt(2) = 1/2.
    assert (success.metrics["mean"].value, success.metrics["stderr"].value) == (0.5, pytest.approx(0.5))
    assert valid.metrics["mean"].value == 0.5


def test_a_hostile_solver_finds_neither_answers_nor_host(
    digits_home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from inspect_ai import eval as inspect_eval
    from solvers import hostile

    from assay.interop.inspect.tasks import pocket

    monkeypatch.setenv("SECRET_KEY", "for the host alone")
    answers = load_prepared(digits_home, DIGITS).private / "answers.csv"
    assert answers.is_file()
    with socket.create_server(("127.0.0.1", 0)) as server:
        solver = hostile(str(answers), str(digits_home.root), server.getsockname()[1])
        (log,) = inspect_eval(
            pocket(tasks="digits"), solver=solver, model="none", log_dir=str(tmp_path), display="none"
        )
    assert log.samples, log.error
    (sample,) = log.samples
    seen = sample.store["seen"]
    assert seen["answers"] == [] and seen["variables"] == []
    assert seen["home"] == "FileNotFoundError"
    assert seen["shadow"] in ("PermissionError", "FileNotFoundError")
    assert seen["processes"] and Path("/proc/self/cmdline").read_text() not in seen["processes"]
    assert seen["network"] in ("ConnectionRefusedError", "OSError", "TimeoutError")
    assert sample.store["refused"] == [str(answers), "../../data/pocket", "/etc/passwd", "submission.csv"]
    assert sample.scores
    assert sample.scores["grade"].as_dict()["valid"] == 0
    assert sample.scores["grade"].explanation == "No submission: 'submission.csv' is a link."
    assert not any((digits_home.root / "labs").iterdir()), "the lab is gone"


def test_the_default_solver_is_an_agent_with_bash(digits_home: Home, tmp_path: Path) -> None:
    from inspect_ai import eval as inspect_eval
    from inspect_ai.model import ChatMessageTool, get_model
    from solvers import BETTER, call

    from assay.interop.inspect.tasks import pocket

    replies = [call("bash", command=BETTER), call("submit", answer="")]
    model = get_model("mockllm/model", custom_outputs=replies)
    (log,) = inspect_eval(pocket(tasks="digits"), model=model, log_dir=str(tmp_path), display="none")
    assert log.samples and log.samples[0].scores
    assert log.samples[0].scores["grade"].as_dict()["success"] == 1
    assert any(isinstance(message, ChatMessageTool) for message in log.samples[0].messages)


def test_the_lab_fulfills_inspects_sandbox_interface(digits_home: Home, tmp_path: Path) -> None:
    from inspect_ai import eval as inspect_eval
    from inspect_ai.solver import Generate, Solver, TaskState, solver
    from inspect_ai.util import SandboxUserUnsupportedError, sandbox

    from assay.interop.inspect.tasks import pocket

    @solver
    def use_everything() -> Solver:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            lab = sandbox()
            await lab.write_file("notes/one.txt", "première\r\n")
            assert await lab.read_file("/workspace/notes/one.txt") == "première\r\n"
            assert (await lab.read_file("data/train.csv")).startswith("image,label")
            with pytest.raises(PermissionError):
                await lab.write_file("data/train.csv", "image,label\n")
            with pytest.raises(PermissionError):
                await lab.write_file("/tmp/lost.txt", "")
            with pytest.raises(FileNotFoundError):
                await lab.read_file("missing.txt")
            with pytest.raises(UnicodeDecodeError):
                await lab.read_file("data/train/0000.png")
            with pytest.raises(TimeoutError):
                await lab.exec(["sleep", "1000"], timeout=1)
            with pytest.raises(SandboxUserUnsupportedError):
                await lab.exec(["id"], user="root")
            result = await lab.exec(
                ["sh", "-c", "cat; pwd; echo $WORD; exit 3"], input="in ", cwd="notes", env={"WORD": "set"}
            )
            assert (result.success, result.returncode, result.stdout) == (False, 3, "in /workspace/notes\nset\n")
            assert not (await lab.exec(["no-such-program"])).success
            budget = await lab.exec(["sh", "-c", "find / -name budget.json 2>/dev/null | xargs cat"])
            left = json.loads(budget.stdout)
            assert left["steps_left"] == 7 and 0 < left["seconds_left"] <= 90
            return state

        return solve

    task = pocket(tasks="digits", steps=7, time="90s")
    (log,) = inspect_eval(task, solver=use_everything(), model="none", log_dir=str(tmp_path), display="none")
    assert log.status == "success", log.error


def test_the_submission_counts_when_the_time_is_up(digits_home: Home, tmp_path: Path) -> None:
    from inspect_ai import eval as inspect_eval
    from inspect_ai.solver import Generate, Solver, TaskState, solver
    from inspect_ai.util import sandbox

    from assay.interop.inspect.tasks import pocket

    @solver
    def sleep_until_time_is_up() -> Solver:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            await sandbox().write_file("submission.csv", await sandbox().read_file("data/sample_submission.csv"))
            await sandbox().exec(["sleep", "1000"])
            return state

        return solve

    task = pocket(tasks="digits", time=20)
    (log,) = inspect_eval(task, solver=sleep_until_time_is_up(), model="none", log_dir=str(tmp_path), display="none")
    assert log.samples and log.samples[0].limit and log.samples[0].scores
    assert log.samples[0].limit.type == "time"
    assert log.samples[0].scores["grade"].as_dict()["valid"] == 1
    assert not any((digits_home.root / "labs").iterdir()), "the lab is gone"


def test_missing_data_is_reported_without_a_traceback(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    from inspect_ai._util.error import PrerequisiteError

    from assay.interop.inspect.tasks import mlebench, pocket

    monkeypatch.setenv("ASSAY_HOME", str(home.root))
    for arguments, message in (
        ({"tasks": "digits"}, "run: assay prepare pocket/digits"),
        ({"tasks": "digit"}, "did you mean pocket/digits?"),
        ({"tasks": "mlebench/leaf-classification"}, "use assay/mlebench"),
        ({"tasks": "digits", "edition": "v9"}, "no edition 'v9'"),
        ({"tasks": "digits", "time": "soon"}, "not a duration"),
    ):
        with pytest.raises(PrerequisiteError) as error:
            pocket(**arguments)
        assert message in str(error.value.message)
    with pytest.raises(PrerequisiteError) as error:
        mlebench(tasks=["leaf-classification"], variant="synthetic-3")
    assert "assay prepare mlebench/leaf-classification --synthetic --seed 3" in str(error.value.message)


@pytest.mark.anyio
async def test_a_timing_measurement_waits_for_commands_and_blocks_new_ones() -> None:
    lock, order = MachineLock(), []
    running, finish, measured = anyio.Event(), anyio.Event(), anyio.Event()

    async def command() -> None:
        async with lock.shared():
            running.set()
            await finish.wait()
            order.append("command")

    async def measurement() -> None:
        async with lock.exclusive():
            order.append("measured")
            measured.set()
            await anyio.wait_all_tasks_blocked()
            order.append("measured to the end")

    async def later_command() -> None:
        async with lock.shared():
            order.append("later command")

    async with anyio.create_task_group() as group:
        group.start_soon(command)
        await running.wait()
        group.start_soon(measurement)
        await anyio.wait_all_tasks_blocked()
        group.start_soon(later_command)
        await anyio.wait_all_tasks_blocked()
        assert order == []
        finish.set()
    assert order == ["command", "measured", "measured to the end", "later command"]


def test_a_trial_without_a_grade_counts_as_a_failure() -> None:
    from assay.interop.inspect.scorer import to_score

    score = to_score(None, DIGITS, "the machine broke")
    assert (score.as_dict()["success"], score.as_dict()["valid"]) == (0, 0)
    assert score.explanation == "the machine broke"


SUBMIT = "cp data/sample_submission.csv submission.csv && head -n 1 submission.csv"
AGENTS = f"""from assay.agents import Agent, Workbench


class Submits(Agent):
    async def work(self, bench: Workbench) -> None:
        await bench.run(["sh", "-c", "{SUBMIT}"])


class Crashes(Agent):
    async def work(self, bench: Workbench) -> None:
        await bench.run(["sh", "-c", "exit 3"])
        raise KeyError("lost")
"""


def test_a_run_exported_for_inspect_has_scores_and_messages(assay, pocket_home, tmp_path: Path) -> None:
    from inspect_ai.log import list_eval_logs, read_eval_log

    def bash(command: str) -> dict[str, object]:
        return {"text": "Next.", "tool_calls": [{"name": "bash", "arguments": {"command": command}}]}

    script = tmp_path / "replies.json"
    script.write_text(json.dumps([bash("ls data"), bash(SUBMIT), bash("submit")]))
    (tmp_path / "agents.py").write_text(AGENTS)
    run, agents = tmp_path / "run", ["shell", f"{tmp_path}/agents.py:Submits", f"{tmp_path}/agents.py:Crashes"]
    words = [word for agent in agents for word in ("--agent", agent)]
    done = assay(
        "run", "pocket/digits", *words, "--model", f"scripted/{script}", "--out", run, "--quiet", home=pocket_home
    )
    assert done.returncode == 0, done.stdout + done.stderr
    done = assay("export", run, "--inspect", tmp_path / "logs", home=pocket_home)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 3

    logs = {log.eval.solver: log for log in (read_eval_log(name) for name in list_eval_logs(str(tmp_path / "logs")))}
    shell = next(log for agent, log in logs.items() if agent and agent.startswith("shell"))
    (sample,) = shell.samples
    roles = [message.role for message in sample.messages]
    assert roles == ["system", "user", *(["assistant", "tool"] * 3)]
    assert "train.csv" in sample.messages[3].text and sample.messages[3].function == "bash"
    assert "image,label" in sample.messages[5].text
    assert sample.messages[-1].text == "The work has ended."
    assert sample.model_usage[f"scripted/{script}"].total_tokens > 0
    assert sample.metadata["sealing"]["sealed"] is True and sample.metadata["status"] == "done"

    assert all(log.eval.tags == [agent] and log.eval.task_args["agent"] == agent for agent, log in logs.items())
    kinds = [event.event for event in sample.events]
    assert kinds[0] == "sample_init" and kinds[-1] == "score" and kinds.count("model") == 3
    replies = [event for event in sample.events if event.event == "model"]
    assert [message.role for message in replies[0].input] == ["system", "user"]
    assert [message.role for message in replies[1].input] == ["assistant", "tool"], "only what is new"
    submitted = next(event for event in sample.events if event.event == "tool" and SUBMIT in str(event.arguments))
    assert "image,label" in str(submitted.result) and submitted.error is None

    (crashed,) = logs["Crashes"].samples
    assert (
        crashed.error.message.startswith("crash: the agent crashed: ") and "KeyError: 'lost'" in crashed.error.traceback
    )
    assert [event.event for event in crashed.events if event.event in ("tool", "error")] == ["tool", "error"]
    failed = next(event for event in crashed.events if event.event == "tool")
    assert failed.failed and failed.error.message == "exit code 3 (exit)"
    assert crashed.scores["grade"].as_dict()["success"] == 0

    submits = logs["Submits"]
    (sample,) = submits.samples
    assert [message.role for message in sample.messages] == ["user", "assistant", "tool"]
    assert sample.messages[1].tool_calls[0].arguments == {"command": ["sh", "-c", SUBMIT]}
    assert "image,label" in sample.messages[2].text
    grade = json.loads((run / "trials" / sample.uuid / "grade.json").read_text())
    assert sample.scores["grade"].as_dict()["score"] == grade["score"]
    success = next(score for score in submits.results.scores if score.name == "success")
    assert success.metrics["mean"].value == int(grade["success"])
    assert submits.eval.viewer.trust_content is False
