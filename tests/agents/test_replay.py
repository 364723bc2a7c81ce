"""Replaying a recorded trial without a model; the record says where the result differs."""

import json
from pathlib import Path

import pytest

from assay.agents.agent import find_agent
from assay.core.errors import UsageError
from assay.records import RunFolder, read_events
from tiny_run import prepare_tiny

TESTS = Path(__file__).parent.parent
MODEL_SCRIPT = TESTS / "agents" / "scripted_researcher.py"
SCRIPTED = TESTS / "agents" / "simple_agents.py"
WITH_SESSION = "research,add_actions=Python REPL+Write File"


@pytest.fixture
def tiny(assay, home):
    """Returns the command for the prepared tiny suite."""
    words = ("--tasks", TESTS / "tiny")
    prepare_tiny(home)
    return lambda *more: assay(*words, *more)


def run(tiny, out, *words):
    """Run one trial and return it."""
    done = tiny("run", "tiny", *words, "--out", str(out), "--quiet")
    assert done.returncode == 0, done.stderr
    (trial,) = RunFolder(out).trials()
    return trial


def requests(trial, kind):
    """The requests of a type."""
    events = read_events(trial.events)
    return [event.request for event in events if event.kind == "call_started" and event.request.type == kind]


def verdict(trial):
    (note,) = requests(trial, "note")
    return note.data["same"], note.data["differences"]


def test_a_trial_is_replayed_without_its_model_with_the_same_result(tiny, tmp_path):
    first = run(
        tiny, tmp_path / "first", "--agent", WITH_SESSION, "--model", f"scripted/{MODEL_SCRIPT}:answer", "--seeds", "1"
    )
    again = run(tiny, tmp_path / "again", "--agent", f"replay,trial={first.path}")
    assert verdict(again) == (True, [])
    assert again.grade.score == first.grade.score == 1.0
    assert again.state.steps == first.state.steps
    assert not requests(again, "model") and again.file.models == {}
    assert again.file.label == f"replay of {first.path.name}"
    assert [action.name for action in requests(again, "action")] == [
        action.name for action in requests(first, "action")
    ]


def test_a_replay_can_be_replayed(tiny, tmp_path):
    first = run(tiny, tmp_path / "first", "--agent", f"{SCRIPTED}:Steps")
    second = run(tiny, tmp_path / "second", "--agent", f"replay,trial={first.path}")
    third = run(tiny, tmp_path / "third", "--agent", f"replay,trial={second.path}")
    assert verdict(third) == (True, [])
    assert [request.command for request in requests(third, "command")] == [
        request.command for request in requests(first, "command")
    ]


def test_a_replay_uses_the_recorded_seed(tiny, tmp_path):
    done = tiny("run", "tiny", "--agent", f"{SCRIPTED}:Steps", "--seeds", "2", "--out", tmp_path / "first", "--quiet")
    assert done.returncode == 0, done.stderr
    second = next(trial for trial in RunFolder(tmp_path / "first").trials() if trial.file.seed == 2)
    again = run(tiny, tmp_path / "again", "--agent", f"replay,trial={second.path}")
    kept = [path.read_bytes() for path in (again.path / "snapshots" / "objects").iterdir()]
    assert again.file.seed == 1 and b"2\n" in kept and b"1\n" not in kept


def test_differences_are_recorded(tiny, tmp_path):
    agent = tmp_path / "chance.py"
    agent.write_text(
        "from assay.agents import Agent, Workbench\n\n\n"
        "class Chance(Agent):\n    async def work(self, bench: Workbench) -> None:\n"
        "        await bench.write('roll.py', 'import os, sys; sys.exit(os.urandom(4)[0] % 100 + 1)')\n"
        "        await bench.run(['sh', '-c', 'cat /proc/sys/kernel/random/uuid > submission.csv'])\n"
        "        await bench.run(['sh', '-c', 'exit $(( $(od -An -N2 -tu2 /dev/urandom) % 100 + 1 ))'])\n"
        "        await bench.run(['sh', '-c', 'exit $(( $(od -An -N2 -tu2 /dev/urandom) % 100 + 1 ))'])\n"
    )
    first = run(tiny, tmp_path / "first", "--agent", f"{agent}:Chance")
    again = run(tiny, tmp_path / "again", "--agent", f"replay,trial={first.path}")
    equal, differences = verdict(again)
    assert not equal
    assert any(line.startswith("the submission is ") and ", and was " in line for line in differences)
    codes = [line for line in differences if line.startswith("step ")]
    # Both of two rolls of 100 codes repeat once in 10,000 runs. Codes above 128 would mean signals.
    assert codes and all(", command: exit " in line for line in codes)


def test_written_files_are_replayed_even_without_a_snapshot(tiny, tmp_path):
    agent = tmp_path / "writer.py"
    agent.write_text(
        "from assay.agents import Agent, Workbench\n\n\n"
        "class Writer(Agent):\n    async def work(self, bench: Workbench) -> None:\n"
        "        await bench.write('gone.txt', 'x' * 60_000)\n"
        "        await bench.run(['sh', '-c', 'mv gone.txt kept; cat >> kept; python train.py'], stdin=b'end')\n"
        "        await bench.run(['sh', '-c', 'test $(wc -c < kept) = 60003'])\n"
    )
    first = run(tiny, tmp_path / "first", "--agent", f"{agent}:Writer")
    again = run(tiny, tmp_path / "again", "--agent", f"replay,trial={first.path}")
    assert verdict(again) == (True, [])
    codes = [
        event.result.code
        for event in read_events(again.events)
        if event.kind == "call_finished" and event.result.type == "command"
    ]
    assert codes == [0, 0]


KILLED_IN_REPLAY = """
from assay.agents import Agent, Workbench


class Killed(Agent):
    async def work(self, bench: Workbench) -> None:
        await bench.run(["sh", "-c", "rm {flag} && kill -9 $$; python train.py"])
        await bench.run(["sh", "-c", "kill -9 $$"])
"""


def test_a_command_killed_from_outside_is_an_infrastructure_failure_and_is_run_again(tiny, tmp_path):
    flag = tmp_path / "flag"
    agent = tmp_path / "killed.py"
    agent.write_text(KILLED_IN_REPLAY.replace("{flag}", str(flag)))
    # Without a sandbox the command sees the flag, so that it is killed in the first attempt of the replay only.
    first = run(tiny, tmp_path / "first", "--agent", f"{agent}:Killed", "--sandbox", "none")
    flag.touch()
    again = run(tiny, tmp_path / "again", "--agent", f"replay,trial={first.path}", "--sandbox", "none")
    (failure,) = [event for event in read_events(again.events) if event.kind == "infrastructure_error"]
    assert failure.error_type == "LabError" and "killed by SIGKILL" in failure.message
    assert verdict(again) == (True, [])
    assert again.grade.score == first.grade.score == pytest.approx(20 / 30, abs=1e-5)


def test_the_hash_of_the_log_is_part_of_the_settings(tiny, tmp_path):
    first = run(tiny, tmp_path / "first", "--agent", "starter")
    settings = find_agent("replay", {"trial": str(first.path)}).model_dump(mode="json")
    assert len(settings["events"]) == 64
    assert find_agent("replay", settings).model_dump(mode="json") == settings
    with first.events.open("a") as log:
        log.write("more\n")
    with pytest.raises(UsageError, match=r"events: .* has changed since the replay was planned"):
        find_agent("replay", settings)


def test_other_tasks_and_folders_without_a_trial_are_refused(tiny, tmp_path):
    with pytest.raises(UsageError, match=r"trial: .* is not a trial folder: it contains no trial\.json"):
        find_agent("replay", {"trial": str(tmp_path)})
    with pytest.raises(UsageError, match="trial: Field required"):
        find_agent("replay")
    first = run(tiny, tmp_path / "first", "--agent", "starter")
    file = first.path / "trial.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"task": "pocket/digits"}))
    again = run(tiny, tmp_path / "again", "--agent", f"replay,trial={first.path}")
    assert again.state.status == "inapplicable"
    assert again.state.reason == f"{first.path.name} is a trial of pocket/digits"
