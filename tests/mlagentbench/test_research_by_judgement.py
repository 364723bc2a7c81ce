"""A scripted research agent solves one task of each way of grading in a sealed lab, from its description to its grade.

The tests of the other tasks show that their starters submit something gradable.
"""

import re
import shutil
from pathlib import Path

import pytest
from researcher import MEASURED, PLAN, STEPS

from assay.audit.reference_panel import keep_measurements
from assay.records import RunFolder, read_events
from assay.records.tape import finished_calls
from assay.results.progress import read_progress
from assay.tasks import Measured, Registry

NAMES = ("house-price", "vectorization", "clrs")
"""One task each that is judged by a table, by speed and by a checkpoint."""
BRAIN = Path(__file__).parent / "researcher.py"


@pytest.fixture
def clrs_with_less_training(tmp_path):
    """A suite with the clrs task, whose starter is made cheap; what it does stays the same."""
    original, suite = Registry().task("mlagentbench/clrs").folder, tmp_path / "small"
    shutil.copytree(original, suite / "clrs", ignore=shutil.ignore_patterns("__pycache__"))
    about = (original.parent / "suite.toml").read_text().replace('"mlagentbench"', '"small"')
    (suite / "suite.toml").write_text(re.sub(r"^tasks = \[.*?^\]", 'tasks = ["clrs"]', about, flags=re.M | re.S))
    starter = suite / "clrs" / "starter" / "train.py"
    script = starter.read_text()
    assert "BATCHES = 300\nGRAPHS = 32" in script
    starter.write_text(script.replace("BATCHES = 300\nGRAPHS = 32", "BATCHES = 50\nGRAPHS = 8"))
    return suite


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_research_agent_runs_the_starter_changes_it_and_is_graded(assay, home, clrs_with_less_training, name):
    folders = [clrs_with_less_training] if name == "clrs" else []
    task = Registry(folders).task("small/clrs" if folders else f"mlagentbench/{name}")
    own = [word for folder in folders for word in ("--trust", "--tasks", folder)]
    assert assay("lab", "build", task.environment).returncode == 0
    assert assay(*own, "prepare", task.id, "--synthetic").returncode == 0
    if task.timed:
        keep_measurements(home, task, Measured.constant(1.0, "fixed", "synthetic-0"))
    words = ["--agent", "research", "--model", f"scripted/{BRAIN}:answer", "--steps", STEPS, "--time", "10m"]
    ran = assay(*own, "run", task.id, "--variant", "synthetic-0", *words, "--out", home.root / "run")
    assert ran.returncode == 0, ran.stderr
    (trial,) = RunFolder(home.root / "run").trials()
    acts = acts_of(trial)
    assert [(act["name"], act["cause"]) for act in acts] == [(action, None) for action in PLAN]
    assert (trial.state.status, trial.state.steps) == ("done", len(PLAN)), trial.state
    assert trial.grade.valid_submission and trial.grade.sealed
    assert trial.grade.score is not None
    listed = acts[1]["observation"].splitlines()
    assert {"description.md", "data/", *task.starter} <= set(listed)
    script = "train.py" if "train.py" in task.starter else task.submission.file
    assert [act["arguments"]["script_name"] for act in acts[3:7]] == [script] * 4
    assert "Changes:" in acts[5]["observation"]
    assert trial.grade.deterministic is not task.timed
    if task.timed:
        # Speed varies between measurements; that of the panel's solution with these two lines was 119.
        assert trial.grade.score > 20 and trial.grade.success
        return
    scores = {row.step: row.score for row in read_progress(trial, task, home)}
    assert scores[len(PLAN)] == trial.grade.score
    # A lower error is better; for clrs, fewer batches are worse.
    assert scores[len(PLAN)] < scores[MEASURED]
    if name == "clrs":
        chance = 1 / 12
        assert scores[MEASURED] > 1.5 * chance


def acts_of(trial):
    """The actions in the record, each with its arguments and its result."""
    calls = [call for _, call in finished_calls(read_events(trial.events)) if call.request.type == "action"]
    return [{**call.request.model_dump(), **call.result.model_dump()} for call in calls]
