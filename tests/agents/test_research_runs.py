"""`assay run` with the research agent and its ablations."""

from pathlib import Path

import pytest

from assay.records import RunFolder
from tiny_run import prepare_tiny

TESTS = Path(__file__).parent.parent
BRAIN = TESTS / "agents" / "scripted_researcher.py"


@pytest.fixture
def tiny(assay, home):
    """Returns the command for the prepared tiny suite."""
    words = ("--tasks", TESTS / "tiny")
    prepare_tiny(home)
    return lambda *more: assay(*words, *more)


def run_words(out, agent="research"):
    return ["run", "tiny", "--agent", agent, "--model", f"scripted/{BRAIN}:answer", "--out", str(out), "--quiet"]


def only_trial(out):
    (trial,) = RunFolder(out).trials()
    return trial


@pytest.mark.parametrize("agent", ["research,protocol=tools", "react", "act"])
def test_assay_run_with_each_agent_solves_the_tiny_task(tiny, tmp_path, agent):
    done = tiny(*run_words(tmp_path / "run", agent))
    assert done.returncode == 0, done.stderr
    trial = only_trial(tmp_path / "run")
    assert trial.state.status == "done"
    assert trial.grade is not None and trial.grade.score == 1.0
    assert trial.grade.sealed is True
    assert trial.state.steps == 7
