"""The suite as a whole: every competition is tested, the splits are the published ones, descriptions are complete."""

import importlib
import re
import statistics
import subprocess
import sys
from pathlib import Path

import pytest
from competition import Competition

from assay.data.selection import find_obstacle
from assay.tasks import Registry, Task

SUITE = Registry().suites["mlebench"][0]
TASKS = {name: Registry().task(f"mlebench/{name}") for name in SUITE.tasks}
EDITIONS = ("v1", "fixed")
ROOT = Path(__file__).parents[2]
MEDIAN_LINES, MAX_LINES = 40, 150
UNSPLIT = {
    "billion-word-imputation",
    "detecting-insults-in-social-commentary",
    "freesound-audio-tagging-2019",
    "h-and-m-personalized-fashion-recommendations",
    "iwildcam-2020-fgvc7",
    "jigsaw-unintended-bias-in-toxicity-classification",
    "multi-modal-gesture-recognition",
    "nomad2018-predict-transparent-conductors",
    "osic-pulmonary-fibrosis-progression",
    "rsna-2022-cervical-spine-fracture-detection",
    "tensorflow2-question-answering",
    "uw-madison-gi-tract-image-segmentation",
    "vesuvius-challenge-ink-detection",
}


@pytest.mark.parametrize("name", TASKS)
def test_every_task_has_its_own_test_file(name: str) -> None:
    module = importlib.import_module(f"test_{name.lower().replace('-', '_')}")
    classes = [value for key, value in vars(module).items() if key.startswith("Test")]
    assert [tested.name for tested in classes if issubclass(tested, Competition)] == [name]


def test_the_splits_are_the_published_ones() -> None:
    """Counts as published: 22 low, 38 medium and 15 high make 75, with 7 for development and 30 of the system card."""
    sizes = {name: len(tasks) for name, tasks in SUITE.splits.items()}
    assert sizes == {"low": 22, "medium": 38, "high": 15, "dev": 7, "all": 75, "systemcard": 30}
    assert {*SUITE.splits["low"], *SUITE.splits["medium"], *SUITE.splits["high"]} == set(SUITE.splits["all"])
    assert sorted(SUITE.tasks) == sorted([*SUITE.splits["all"], *SUITE.splits["dev"]])
    assert all(len(set(tasks)) == len(tasks) for tasks in SUITE.splits.values())


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_leaderboard_and_description_are_complete(task: Task) -> None:
    board = task.leaderboard
    assert board is not None and len(board.percentiles) == 101
    ladder = [board.gold, board.silver, board.bronze, board.median]
    assert ladder == sorted(ladder, reverse=task.metric.direction == "higher")
    assert task.source.kaggle is not None and task.source.kaggle.competition == task.name
    description = task.description
    for column in [task.submission.id, *list(task.submission.columns)[:1]]:
        assert column is not None and column in description
    body = description.replace(task.title, "")
    assert not re.search(r"TODO|mle-?bench|private|edition|grader", body, re.IGNORECASE)
    for edition in EDITIONS:
        assert task.in_edition(edition).submission.lenient == (edition == "v1")


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_an_obfuscated_description_does_not_name_the_competition(task: Task) -> None:
    text = task.obfuscated
    assert text is not None
    assert task.title.lower() not in text.lower()
    assert task.name not in text
    prose = re.sub("```.*?```", "", text, flags=re.DOTALL)
    assert not re.search(r"kaggle|competition|leaderboard|\b20[012]\d\b", prose, re.IGNORECASE)


def test_preparations_are_short() -> None:
    lines = {name: len((task.folder / "prepare.py").read_text().splitlines()) for name, task in TASKS.items()}
    assert statistics.median(lines.values()) <= MEDIAN_LINES
    assert {name: count for name, count in lines.items() if count > MAX_LINES} == {}, "use shared building blocks"


def test_a_hidden_part_can_be_split_off_all_but_these_tasks() -> None:
    """In edition v1; `test_hidden_rows_are_graded_like_test_rows` does it, and what cannot be split says why."""
    reasons = {name: find_obstacle(task.in_edition("v1")) for name, task in TASKS.items()}
    assert {name for name, reason in reasons.items() if reason} == UNSPLIT


def test_every_task_has_a_category_of_the_published_benchmark() -> None:
    """The paper counts 15 categories."""
    assert [name for name, task in TASKS.items() if task.category is None] == []
    assert len({task.category for task in TASKS.values()}) == 15


def test_the_table_in_the_documentation_is_current() -> None:
    result = subprocess.run([sys.executable, ROOT / "tools" / "mlebench_table.py", "--check"], timeout=600)
    assert result.returncode == 0, "docs/mlebench.md is not current; run: python tools/mlebench_table.py"


def test_the_lists_of_the_suite_follow_from_the_facts_of_its_competitions() -> None:
    result = subprocess.run([sys.executable, ROOT / "tools" / "suite_lists.py", "--check"], timeout=600)
    assert result.returncode == 0, "suite.toml is not current; run: python tools/suite_lists.py"
