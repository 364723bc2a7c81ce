"""A scripted research agent solves one task of each way of grading in a sealed lab, from its description to its grade.

The tests of the other tasks show that their starters submit something gradable.
"""

from pathlib import Path

import pytest
from researcher import MEASURED, PLAN, STEPS

from assay.records import RunFolder, read_events
from assay.records.tape import finished_calls
from assay.results.score_curve import grade_steps
from assay.tasks import Registry

TASKS = {name: Registry().task(f"mlagentbench/{name}") for name in ("house-price", "vectorization", "clrs")}
"""One task each that is judged by a table, by speed and by a checkpoint."""
BRAIN = Path(__file__).parent / "researcher.py"


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_a_research_agent_runs_the_starter_changes_it_and_is_graded(assay_here, home, name):
    task = TASKS[name]
    assert assay_here("lab", "build", task.environment).returncode == 0
    assert assay_here("prepare", task.id, "--synthetic").returncode == 0
    words = ["--agent", "research", "--model", f"scripted/{BRAIN}:answer", "--steps", STEPS, "--time", "10m"]
    ran = assay_here("run", task.id, "--variant", "synthetic-0", *words, "--out", home.root / "run")
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
    # Speed varies between measurements, so only its presence is checked.
    assert trial.grade.deterministic is not task.timed
    if task.timed:
        return
    scores = {point.step: point.score for point in grade_steps(trial, task, home)}
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
