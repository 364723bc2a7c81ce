"""Every competition of the suite is sound on its miniature in both editions, and reads as its readers need it."""

import re
from pathlib import Path

import pytest

from assay.audit.task_check import check_task
from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.data import Prepared, prepare
from assay.tasks import Registry, Task

SUITE = Registry().suites["mlebench"][0]
TASKS = {name: Registry().task(f"mlebench/{name}") for name in SUITE.tasks}
EDITIONS = ("v1", "fixed")


def miniature(home: Home, name: str, edition: str, seed: int = 0) -> Prepared:
    return prepare(home, TASKS[name], edition, f"synthetic-{seed}", progress=NoProgress())


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("edition", EDITIONS)
def test_a_miniature_passes_every_check(tmp_path: Path, name: str, edition: str) -> None:
    home = Home(tmp_path)
    failed = [finding for finding in check_task(miniature(home, name, edition), home) if finding.passed is False]
    assert not failed


@pytest.mark.parametrize("name", ["leaf-classification", "random-acts-of-pizza", "dogs-vs-cats-redux-kernels-edition"])
def test_a_seed_makes_one_miniature_and_another_seed_another(tmp_path: Path, name: str) -> None:
    made = [miniature(Home(tmp_path / str(place)), name, "v1", seed) for place, seed in enumerate((0, 0, 1))]
    public = [one.manifest.public for one in made]
    assert public[0] == public[1]
    assert public[0] != public[2]


def test_the_splits_are_the_published_ones() -> None:
    """Counts as published: 22 low, 38 medium and 15 high make 75, with 7 for development and 30 of the system card."""
    sizes = {name: len(tasks) for name, tasks in SUITE.splits.items()}
    assert sizes == {"low": 22, "medium": 38, "high": 15, "dev": 7, "all": 75, "systemcard": 30}
    assert set(SUITE.splits["low"]) | set(SUITE.splits["dev"]) == set(SUITE.tasks)
    assert all(len(set(tasks)) == len(tasks) for tasks in SUITE.splits.values())


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_a_task_says_what_its_readers_need(task: Task) -> None:
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


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_a_preparation_is_short(task: Task) -> None:
    code = (task.folder / "prepare.py").read_text().splitlines()
    assert len(code) <= 110, "what is longer lacks a shared block"
