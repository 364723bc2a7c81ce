"""`assay run` with the research agent: graded, recorded, and the same after it was killed at any moment."""

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from assay.records import RunFolder, read_events

TESTS = Path(__file__).parent.parent
WITH_SESSION = "research,add_actions=Python REPL"
BRAIN = TESTS / "agents" / "brain.py"


@pytest.fixture
def tiny(assay):
    """The command on the tiny suite, prepared."""
    words = ("--tasks", TESTS / "tiny")
    assert assay(*words, "prepare", "tiny").returncode == 0
    return lambda *more: assay(*words, *more)


def run_words(out, agent="research"):
    return ["run", "tiny", "--agent", agent, "--model", f"scripted/{BRAIN}:answer", "--out", str(out), "--quiet"]


def only_trial(out):
    (trial,) = RunFolder(out).trials()
    return trial


@pytest.mark.parametrize("agent", ["research,protocol=tools", "react", "act"])
def test_an_agent_solves_the_tiny_task_by_its_command(tiny, tmp_path, agent):
    done = tiny(*run_words(tmp_path / "run", agent))
    assert done.returncode == 0, done.stderr
    trial = only_trial(tmp_path / "run")
    assert trial.state.status == "done"
    assert trial.grade is not None and trial.grade.score == 1.0
    assert trial.grade.sealed is True
    assert trial.state.steps == 7


@pytest.mark.slow
def test_a_run_killed_at_any_moment_ends_the_same(home, tiny, tmp_path):
    assert tiny(*run_words(tmp_path / "whole", WITH_SESSION)).returncode == 0
    whole = only_trial(tmp_path / "whole")
    events = len(read_events(whole.events))
    dice = random.Random(0)
    for number, after in enumerate(sorted(dice.sample(range(2, events), 3))):
        out = tmp_path / f"run-{number}"
        process = subprocess.Popen(
            [sys.executable, "-m", "assay", "--tasks", str(TESTS / "tiny"), *run_words(out, WITH_SESSION)],
            env=os.environ | {"ASSAY_HOME": str(home.root)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        while (
            process.poll() is None and sum(len(read_events(path)) for path in out.glob("trials/*/events.jsonl")) < after
        ):
            pass
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert tiny("resume", str(out)).returncode == 0
        trial = only_trial(out)
        assert (trial.state.status, trial.grade.score, trial.state.steps) == ("done", 1.0, whole.state.steps)
        assert acts(trial) == acts(whole)


def acts(trial):
    """The actions that counted, with their arguments: what was done again after a kill counts once."""
    asked = {}
    for event in read_events(trial.events):
        if event.kind == "action" and event.about["what"] == "act":
            asked[event.about["step"]] = json.dumps(event.about["request"], sort_keys=True)
    return [asked[step] for step in sorted(asked)]
