"""Changed code is another agent; reruns and removals are stated; causes of failures say what happened."""

import hashlib
import json
from pathlib import Path

import pytest

from assay.core.errors import UsageError
from assay.lab.machine_load import describe_load, read_load
from assay.models.weights import hash_weights
from assay.records import label_trials
from assay.records.budget import BudgetUsed
from assay.records.events import (
    GAVE_UP,
    AgentCrashed,
    BudgetExhausted,
    CallFinished,
    CallStarted,
    CommandResult,
    NodeRequest,
    NoteRequest,
    SearchNode,
    Started,
)
from assay.records.failure import explain_failure
from assay.records.state import State, SubmissionEntry
from assay.results.estimate import summarize_tasks
from assay.results.frame import read_frame
from assay.runs.hashes import check_agent, hash_of_agent
from assay.runs.plan import Plan
from assay.tasks import Registry

TINY = Path(__file__).parent.parent / "tiny"

AGENT = """
from assay.agents import Agent, Workbench
from .helper import COMMAND

class Evolve(Agent):
    async def work(self, bench: Workbench) -> None:
        await bench.run(COMMAND)
"""


@pytest.fixture
def agent(tmp_path: Path) -> Path:
    """An agent in two files, which runs the starter."""
    (tmp_path / "evolve.py").write_text(AGENT)
    (tmp_path / "helper.py").write_text('COMMAND = ["python", "train.py"]\n')
    return tmp_path / "evolve.py"


def words(tiny, agent: Path, *more: str) -> list[str]:
    return ["run", "tiny", "--agent", f"{agent}:Evolve", "--time", "60s", "--out", str(tiny.out), "--quiet", *more]


def test_edited_code_runs_as_new_trials_and_reports_keep_the_versions_apart(tiny, agent):
    assert tiny.call(*words(tiny, agent, "--seeds", "1")).returncode == 0
    (old,) = tiny.folder.trials()
    agent.with_name("helper.py").write_text('COMMAND = ["false"]\n')
    result = tiny.call(*words(tiny, agent, "--seeds", "2"))
    assert result.returncode == 0, result.stderr
    trials = list(tiny.folder.trials())
    assert [trial.state.status for trial in trials] == ["done", "failed", "failed"]
    assert trials[0].path == old.path and trials[0].file.hashes["agent"] != trials[1].file.hashes["agent"]
    labels = [cell.agent for cell in summarize_tasks(read_frame(tiny.folder))]
    versions = [trial.file.hashes["agent"][:7] for trial in trials[:2]]
    assert labels == [f"Evolve (v{number}, code {version})" for number, version in enumerate(versions, 1)]
    status = json.loads(tiny.call("status", str(tiny.out), "--json").stdout)
    assert [trial["agent"] for trial in status["trials"]] == [labels[0], labels[1], labels[1]]


def test_an_unfinished_trial_never_runs_with_other_code_than_it_was_planned_with(tiny, agent):
    assert tiny.call(*words(tiny, agent, "--seeds", "1")).returncode == 0
    (trial,) = tiny.folder.trials()
    for name in ("events.jsonl", "state.json", "grade.json", "submission/manifest.json"):
        (trial.path / name).unlink()
    agent.write_text(AGENT + "# changed")
    refused = tiny.call("resume", str(trial.path))
    assert refused.returncode == 2 and "has changed since" in refused.stderr
    resumed = tiny.call("resume", str(tiny.out))
    assert resumed.returncode == 0 and "1 unfinished trial of an earlier version" in resumed.stderr
    assert trial.state.status == "waiting"
    assert "pass --yes" in tiny.call("clean", str(tiny.out), "--outdated").stderr
    assert tiny.call("clean", str(tiny.out), "--outdated", "--yes").returncode == 0
    assert tiny.folder.file.trials == ()
    assert [gone.id for gone in tiny.folder.file.removed] == [trial.path.name]
    assert "Removed from the run by its user: 1 waiting." in tiny.call("report", str(tiny.out)).stdout


def test_a_rerun_of_an_agents_failure_is_recorded_and_the_first_attempt_counts(tiny):
    assert tiny.call(*tiny.run_words("Idles", "starter")).returncode == 0
    first, other = tiny.folder.trials()
    result = tiny.call("run", "--again", "--failed", str(tiny.out), "--quiet")
    assert result.returncode == 0, result.stderr
    *_, again = tiny.folder.trials()
    assert again.file.replaces == first.path.name and again.path.name == f"{first.path.name}-again-1"
    assert len(tiny.folder.file.trials) == 3 and first.grade is not None
    assert [outcome.counts for outcome in read_frame(tiny.folder)] == [True, True, False]
    assert "Rerun: 1 trial for other reasons; the first attempts count. 0 of the reruns succeeded" in result.stdout
    assert tiny.call("run", "--again", str(other.path), "--quiet").returncode == 0
    assert tiny.folder.file.trials[-1] == f"{other.path.name}-again-1"
    assert tiny.call("verify", str(tiny.out)).returncode == 0


def test_an_agent_that_exits_the_process_fails_in_one_line(tiny, tmp_path):
    (tmp_path / "quits.py").write_text(
        AGENT.replace("from .helper import COMMAND", "import sys").replace("await bench.run(COMMAND)", "sys.exit(4)")
    )
    result = tiny.call(*words(tiny, tmp_path / "quits.py"))
    assert result.returncode == 0 and "Traceback" not in result.stderr
    (trial,) = tiny.folder.trials()
    assert (trial.state.cause, trial.state.failure) == ("agent", "crash")
    assert "SystemExit(4)" in (trial.state.reason or "")
    assert "failed: crash" in tiny.call("status", str(tiny.out)).stdout


def finished(**result: object) -> CallFinished:
    details = {"ended": "exit", "code": 0, "stdout": "", "stderr": "", "seconds": 61.0} | result
    return CallFinished(number=1, call=0, result=CommandResult.model_validate(details), used=BudgetUsed())


def noted(request: NoteRequest | NodeRequest) -> CallStarted:
    return CallStarted(number=1, step=1, request=request)


def buggy(id: int) -> SearchNode:
    return SearchNode(id=id, operator="draft", status="buggy", plan="", code="", reason="it printed no metric")


@pytest.mark.parametrize(
    ("events", "failure", "reason"),
    [
        ([finished(ended="time", code=137)], "out of time", "out of time after 1m1s: the last command was killed"),
        ([finished(ended="memory", code=137)], "out of memory", "out of memory: the last command was killed"),
        ([finished(code=1, stderr="x\nMemoryError\n")], "out of memory", "out of memory: MemoryError"),
        (
            [finished(code=2, stderr="python: can't open file 'train.py'\n")],
            "failed command",
            "exit code 2: python: can't open file 'train.py'",
        ),
        ([finished(ended="signal", code=139)], "failed command", "killed by SIGSEGV: the last command printed nothing"),
        ([finished()], "no submission", ""),
        (
            [finished(), BudgetExhausted(number=2, limit="time", reason="time is up")],
            "out of time",
            "out of time after",
        ),
        ([finished(), BudgetExhausted(number=2, limit="steps", reason="x")], "out of steps", "out of steps"),
        (
            [AgentCrashed(number=2, error_type="KeyError", message="KeyError('x')", traceback="")],
            "crash",
            "the agent crashed: KeyError('x')",
        ),
        (
            [finished(code=1, stderr="x"), noted(NoteRequest(topic=GAVE_UP, cause="format", reason="unreadable"))],
            "no submission",
            "the agent gave up: unreadable; nothing",
        ),
        (
            [noted(NodeRequest(node=buggy(0))), noted(NodeRequest(node=buggy(1)))],
            "no submission",
            "none of 2 scripts worked, 2 of them: it printed no metric; nothing",
        ),
        (
            [noted(NodeRequest(node=buggy(0))), BudgetExhausted(number=2, limit="steps", reason="x")],
            "out of steps",
            "out of steps; none of 1 script worked, 1 of them: it printed no metric",
        ),
    ],
)
def test_causes_say_what_happened(events, failure, reason):
    start = Started(number=0, trial="t", trial_file_sha256="0" * 64, attempt=1)
    entry = SubmissionEntry(
        at="2026-11-16T12:00:00+00:00", reason="nothing was submitted: 'submission.csv' does not exist"
    )
    cause, said = explain_failure([start, *events], entry, "Nothing was submitted.", State(elapsed=60.0))
    assert cause == failure
    assert said.startswith(reason) and said.endswith("nothing was submitted: 'submission.csv' does not exist")
    file = SubmissionEntry(at="2026-11-16T12:00:00+00:00", file="submission.csv", size=1, sha256="0" * 64)
    cause, said = explain_failure([start, *events], file, "The header is wrong.", State(elapsed=60.0))
    assert cause == "invalid submission" and said.startswith("The header is wrong")


def test_the_code_of_an_agent_is_its_file_and_what_it_imports_from_its_folder(agent, tmp_path):
    (tmp_path / "unrelated.py").write_text("X = 1")
    before = hash_of_agent(f"{agent}:Evolve")
    (tmp_path / "unrelated.py").write_text("X = 2")
    assert hash_of_agent(f"{agent}:Evolve") == before
    (tmp_path / "helper.py").write_text("COMMAND = []")
    assert hash_of_agent(f"{agent}:Evolve") != before
    assert hash_of_agent(str(tmp_path / "none.py:None")) is None
    assert hash_of_agent("aide") != hash_of_agent("starter")


def test_a_busy_machine_is_recorded_and_warned_of(tmp_path, tiny):
    (tmp_path / "loadavg").write_text("12.50 8.00 4.00 3/400 1234\n")
    assert read_load(tmp_path / "loadavg", cores=2) == 6.25
    assert read_load(tmp_path / "none") is None
    assert "this machine is busy (6.2 runnable processes per core)" in (describe_load(6.25) or "")
    assert describe_load(1.0) is None and describe_load(None) is None
    assert tiny.call(*tiny.run_words("starter")).returncode == 0
    (trial,) = tiny.folder.trials()
    assert trial.state.load is not None and trial.state.load >= 0


def test_other_weights_at_the_same_path_are_another_model(tiny, tmp_path):
    """A trial of the first file is not run with the second; the first file again is the first model."""
    coin, weights = Registry([TINY]).task("tiny/coin"), tmp_path / "mine.gguf"

    def plan(content: bytes):
        weights.write_bytes(content)
        models = ({"main": f"local/{weights}"},)
        agents = (("chooser", {}),)
        (file,) = Plan(tasks=(coin,), agents=agents, models=models, tasks_folder=TINY).trials(tiny.home)
        return file

    first, second = plan(b"GGUF one"), plan(b"GGUF two")
    assert first.id != second.id and first.models == second.models
    assert first.hashes["weights"] == hashlib.sha256(b"GGUF one").hexdigest()
    versions = [file.hashes["weights"][:7] for file in (first, second)]
    assert label_trials([first, second]) == [f"chooser · local/{weights} (weights {version})" for version in versions]
    with pytest.raises(UsageError, match=r"the weights of local/.*mine\.gguf have changed since"):
        check_agent(first)
    check_agent(second)
    assert plan(b"GGUF one").id == first.id
    # An untrusted record may name any file of this machine; only weights are read.
    weights.write_bytes(b"secrets of the host")
    named = (weights, "/proc/kcore", "/dev/zero")
    assert [hash_weights({"main": f"local/{path}"}, tiny.home) for path in named] == [None, None, None]
