"""The pocket tasks' kept figures: complete, rising, and what comes out when the panel is run again."""

import pytest

from assay.audit.reference_panel import measure
from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.tasks import Measured, Registry, Task

TASKS = ["digits", "house-price", "spaceship-titanic"]


@pytest.fixture(params=TASKS)
def task(request: pytest.FixtureRequest) -> Task:
    return Registry().task(f"pocket/{request.param}")


def kept(task: Task) -> Measured:
    assert task.measured is not None
    return task.measured


def test_every_task_has_what_agents_without_a_model_need(task: Task) -> None:
    assert task.data.train and task.data.test and task.data.target and task.data.id
    assert set(task.submission.columns) == {task.data.target}
    assert "train.py" in task.starter
    assert task.budget.time == 600 and task.resources.cores == 1


def test_the_panel_rises_from_trivial_to_strong(task: Task) -> None:
    scores = [one.score for one in kept(task).panel]
    assert len(scores) >= 12
    assert scores == sorted(scores, reverse=task.metric.direction == "lower")


def test_the_starter_leaves_room_at_both_ends(task: Task) -> None:
    scores = [one.score for one in kept(task).panel]
    beaten = sum(task.metric.better(kept(task).baseline, score) for score in scores)
    assert 1 <= beaten <= len(scores) / 2


def test_the_figures_say_what_they_were_measured_with(task: Task) -> None:
    assert {"python", "numpy", "pandas", "scikit-learn", "lightgbm", "processors"} <= set(kept(task).versions)


@pytest.mark.slow
def test_the_panel_gives_the_kept_figures_again(task: Task, prepared_home: Home) -> None:
    again = measure(prepared_home, task, seeds=2, progress=NoProgress())
    assert [one.name for one in again.panel] == [one.name for one in kept(task).panel]
    # The same seed on another processor may round otherwise somewhere in a tree or a solver.
    for now, then in zip(again.panel, kept(task).panel, strict=True):
        assert now.score == pytest.approx(then.score, abs=0.01), now.name
    assert abs(again.baseline - kept(task).baseline) < 4 * kept(task).baseline_spread
