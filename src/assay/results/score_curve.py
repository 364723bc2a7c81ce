"""The score of a trial over time: its submission after every step, graded afterwards."""

from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from assay.core.errors import UsageError
from assay.core.home import Home
from assay.data.store import Prepared, load_prepared
from assay.grading import grade_submission
from assay.grading.result import Grade
from assay.lab.snapshots import load_snapshot, read_object
from assay.records import BudgetUsed, TrialFolder, read_events
from assay.records.events import CallFinished, SnapshotTaken
from assay.tasks import Task


class ScorePoint(BaseModel):
    """The grade of the submission in the workspace after one step."""

    model_config = ConfigDict(frozen=True)

    step: int
    elapsed: float | None
    score: float | None
    valid: bool
    medal: str | None
    why: str | None


@dataclass(frozen=True)
class GradedStep:
    """The submission in the workspace after one step, what the trial had used by then, and its grade."""

    step: int
    used: BudgetUsed | None
    grade: Grade


def grade_steps(folder: TrialFolder, task: Task, home: Home) -> list[ScorePoint]:
    """Grade the submission in every snapshot; equal submissions are graded once.

    The agent never sees these grades: they are computed after the trial has ended.
    """
    return [
        ScorePoint(
            step=one.step,
            elapsed=one.used.elapsed if one.used else None,
            score=one.grade.score,
            valid=one.grade.valid_submission,
            medal=one.grade.medal,
            why=one.grade.why,
        )
        for one in grade_picks(folder, task, SnapshotGrader(folder, task, home))
    ]


class SnapshotGrader:
    """Grades submissions that a trial's snapshots keep, each content once."""

    def __init__(self, folder: TrialFolder, task: Task, home: Home) -> None:
        if task.timed:
            raise UsageError(f"{task.id} is graded by running the submission; its steps cannot be graded afterwards")
        self._folder, self._home = folder, home
        file = folder.file
        self._data = load_prepared(home, task, file.edition, file.variant)
        self._grades: dict[str | None, Grade] = {}

    def grade(self, digest: str | None) -> Grade:
        """Return the grade of the content with this SHA-256; None is that there was no submission."""
        if digest not in self._grades:
            self._grades[digest] = grade_snapshot(self._folder, digest, self._data, self._home)
        return self._grades[digest]

    @property
    def scores(self) -> dict[str, float]:
        """The scores of all valid submissions graded so far, by their SHA-256."""
        return {
            digest: grade.score
            for digest, grade in self._grades.items()
            if digest is not None and grade.valid_submission and grade.score is not None
        }


def grade_picks(folder: TrialFolder, task: Task, grader: SnapshotGrader) -> Iterator[GradedStep]:
    """Yield the grade of what the agent would have submitted after each step."""
    used: BudgetUsed | None = None
    for event in read_events(folder.events):
        if isinstance(event, CallFinished):
            used = event.used
        if isinstance(event, SnapshotTaken):
            kept = load_snapshot(folder.snapshots, event.snapshot).files.get(task.submission.file)
            yield GradedStep(event.step, used, grader.grade(kept.sha256 if kept else None))


def grade_snapshot(folder: TrialFolder, digest: str | None, data: Prepared, home: Home) -> Grade:
    """Grade a submission that a trial's snapshots keep, by its SHA-256; None is that there was none."""
    content = None if digest is None else read_object(folder.snapshots, digest)
    return grade_submission(content, data, home=home, isolated=True)
