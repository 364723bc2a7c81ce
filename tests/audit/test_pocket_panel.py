"""The recorded figures of the pocket tasks: complete, ascending, and reproducible."""

import subprocess
import sys
from pathlib import Path

import pytest

from assay.audit.reference_panel import measure_panel
from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.tasks import Measured, Registry, Task

TASKS = [task.name for task in Registry().select("pocket") if task.judged == "table"]
TABLES = ["bike-rentals", "digits", "house-price", "leaf-outlines", "letters", "movie-reviews", "spaceship-titanic"]
"""Tasks whose submission is the column that the training table has and the test table lacks."""
TOOLS = Path(__file__).parents[2] / "tools"
MEASURED_AGAIN = ["digits", "house-price", "mystery-algorithm"]


@pytest.fixture(params=TASKS)
def task(request: pytest.FixtureRequest) -> Task:
    return Registry().task(f"pocket/{request.param}")


def recorded(task: Task) -> Measured:
    assert task.measured is not None
    return task.measured


@pytest.mark.parametrize("name", TABLES)
def test_tables_name_what_agents_without_a_model_need(name: str) -> None:
    task = Registry().task(f"pocket/{name}")
    assert task.data.train and task.data.test and task.data.target and task.data.id
    assert set(task.submission.columns) == {task.data.target}


def test_every_task_has_a_starter_and_a_budget_of_minutes(task: Task) -> None:
    assert "train.py" in task.starter
    assert task.budget.time == 600 and task.resources.cores == 1


def test_panel_scores_ascend(task: Task) -> None:
    scores = [solution.score for solution in recorded(task).panel]
    assert len(scores) >= 15
    assert min(solution.seeds for solution in recorded(task).panel) >= 2
    assert scores == sorted(scores, reverse=task.metric.direction == "lower")


def test_the_starter_is_neither_best_nor_worst(task: Task) -> None:
    scores = [solution.score for solution in recorded(task).panel]
    beaten = sum(task.metric.better(recorded(task).baseline, score) for score in scores)
    assert 1 <= beaten <= len(scores) / 2


def test_trivial_starter_and_strong_solutions_differ_by_more_than_seed_noise(task: Task) -> None:
    figures = recorded(task)
    scores = [solution.score for solution in figures.panel]
    noise = max(figures.baseline_spread, *(solution.spread for solution in figures.panel))
    assert abs(figures.baseline - scores[0]) > 3 * noise
    assert abs(scores[len(scores) * 2 // 3] - figures.baseline) > 3 * noise
    assert abs(scores[-1] - figures.baseline) > 3 * noise


def test_every_panel_has_at_least_15_solutions() -> None:
    assert min(len(recorded(task).panel) for task in Registry().select("pocket")) >= 15


def test_levels_are_far_apart_and_quick_ranks_methods_as_all_tasks_do() -> None:
    for tool, message in (
        ("pocket_levels.py", "a promise does not hold"),
        ("pocket_cards.py", "docs/pocket.md is stale"),
    ):
        result = subprocess.run([sys.executable, TOOLS / tool, "--check"], capture_output=True, text=True, timeout=600)
        assert result.returncode == 0, f"{message}:\n{result.stdout}{result.stderr}"


def test_the_figures_name_the_versions_they_were_measured_with(task: Task) -> None:
    assert {"python", "numpy", "pandas", "scikit-learn", "lightgbm", "processors"} <= set(recorded(task).versions)


@pytest.mark.slow
@pytest.mark.parametrize("name", MEASURED_AGAIN)
def test_measuring_again_gives_the_recorded_figures(name: str, pocket_home: Home) -> None:
    """The starter and the two fastest solutions stand for the panel, whose other solutions take minutes."""
    task = Registry().task(f"pocket/{name}")
    expected = {
        solution.name: solution.score
        for solution in sorted(recorded(task).panel, key=lambda solution: solution.seconds)[:2]
    }
    measured = measure_panel(pocket_home, task, seeds=2, panel_seeds=2, solutions=expected, progress=NoProgress())
    # The same seed may round differently on another processor somewhere in a tree or a solver.
    assert {solution.name: solution.score for solution in measured.panel} == pytest.approx(expected, abs=0.01)
    assert abs(measured.baseline - recorded(task).baseline) < 4 * recorded(task).baseline_spread
