"""The recorded figures of the pocket tasks: complete, ascending, and reproducible."""

import pytest

from assay.audit.reference_panel import measure_panel
from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.tasks import Measured, Registry, Task

TASKS = [task.name for task in Registry().select("pocket") if task.judged == "table"]


@pytest.fixture(params=TASKS)
def task(request: pytest.FixtureRequest) -> Task:
    return Registry().task(f"pocket/{request.param}")


def recorded(task: Task) -> Measured:
    assert task.measured is not None
    return task.measured


def test_every_task_names_what_agents_without_a_model_need(task: Task) -> None:
    assert task.data.train and task.data.test and task.data.target and task.data.id
    assert set(task.submission.columns) == {task.data.target}
    assert "train.py" in task.starter
    assert task.budget.time == 600 and task.resources.cores == 1


def test_panel_scores_ascend(task: Task) -> None:
    scores = [solution.score for solution in recorded(task).panel]
    assert len(scores) >= 12
    assert scores == sorted(scores, reverse=task.metric.direction == "lower")


def test_the_starter_is_neither_best_nor_worst(task: Task) -> None:
    scores = [solution.score for solution in recorded(task).panel]
    beaten = sum(task.metric.better(recorded(task).baseline, score) for score in scores)
    assert 1 <= beaten <= len(scores) / 2


def test_the_figures_name_the_versions_they_were_measured_with(task: Task) -> None:
    assert {"python", "numpy", "pandas", "scikit-learn", "lightgbm", "processors"} <= set(recorded(task).versions)


@pytest.mark.slow
def test_measuring_again_gives_the_recorded_figures(task: Task, pocket_home: Home) -> None:
    """The starter and the two fastest solutions stand for the panel, whose other solutions take minutes."""
    expected = {
        solution.name: solution.score
        for solution in sorted(recorded(task).panel, key=lambda solution: solution.seconds)[:2]
    }
    measured = measure_panel(pocket_home, task, seeds=2, solutions=expected, progress=NoProgress())
    # The same seed may round differently on another processor somewhere in a tree or a solver.
    assert {solution.name: solution.score for solution in measured.panel} == pytest.approx(expected, abs=0.01)
    assert abs(measured.baseline - recorded(task).baseline) < 4 * recorded(task).baseline_spread
