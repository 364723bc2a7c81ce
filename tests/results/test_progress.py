"""The frame of what trials had at each step: graded once, kept by content, described in the docs."""

import re
from pathlib import Path

import pytest

from assay.core.errors import UsageError
from assay.core.home import Home
from assay.records import RunFolder
from assay.results import progress
from assay.results.frame import read_frame
from assay.results.progress import ProgressRow, load_progress, load_scores, read_progress, to_polars
from assay.tasks import Registry
from tiny_run import TinyRun

DOCS = Path(__file__).parents[2] / "docs" / "progress.md"
CLIMBER = Path(__file__).parents[1] / "studies" / "study_agents.py"


def test_every_column_is_described_in_the_docs():
    described = re.findall(r"^\| `(\w+)` \|", DOCS.read_text(), re.MULTILINE)
    assert described == list(ProgressRow.__dataclass_fields__)


@pytest.fixture
def climber(tiny: TinyRun) -> tuple[RunFolder, Home]:
    """A trial with 15, 30, 15 and 18 of 30 coins right after its steps."""
    done = tiny.call(*tiny.run_words(f"{CLIMBER}:Climber,right=15/30/15/18"))
    assert done.returncode == 0, done.stderr
    return tiny.folder, tiny.home


def test_equal_submissions_are_graded_once_and_kept_for_the_next_time(climber, monkeypatch):
    run, home = climber
    frame, graded = read_frame(run), []
    (row,) = frame
    task, folder = frame.known_tasks[row.task], row.record.folder
    grade = progress.grade_submission
    monkeypatch.setattr(
        progress, "grade_submission", lambda *words, **options: graded.append(1) or grade(*words, **options)
    )
    assert load_progress(folder, task, home, row) is None
    rows = read_progress(folder, task, home, row)
    assert len(graded) == 3, "the first and the third submission are equal"
    assert [(step.step, step.score) for step in rows] == [(1, 0.5), (2, 1.0), (3, 0.5), (4, 0.6), (4, 0.6)]
    assert [step.best for step in rows] == [True, True, False, False, False]
    assert [step.end for step in rows] == [False] * 4 + [True]
    assert load_progress(folder, task, home, row) == rows
    assert read_progress(folder, task, home, row) == rows and len(graded) == 3
    scores = load_scores(folder, [step.submission for step in rows], home)
    assert sorted(scores.values()) == [0.5, 0.6, 1.0]
    assert to_polars(rows).columns == list(ProgressRow.__dataclass_fields__)


def test_a_task_that_measures_time_cannot_be_graded_afterwards(climber):
    run, home = climber
    timed = Registry().task("mlagentbench/vectorization")
    with pytest.raises(UsageError, match="cannot be graded afterwards"):
        read_progress(next(run.trials()), timed, home)
