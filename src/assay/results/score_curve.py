"""The score of a trial over time: its submission after every step, graded afterwards."""

from pydantic import BaseModel, ConfigDict

from assay.core.errors import UsageError
from assay.core.home import Home
from assay.data.store import Prepared, load_prepared
from assay.grading import grade_submission
from assay.grading.result import Grade
from assay.lab.snapshots import load_snapshot, read_object
from assay.records import TrialFolder, read_events
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


def grade_steps(folder: TrialFolder, task: Task, home: Home) -> list[ScorePoint]:
    """Grade the submission in every snapshot; equal submissions are graded once.

    The agent never sees these grades: they are computed after the trial has ended.
    """
    if task.timed:
        raise UsageError(f"{task.id} is graded by running the submission; its steps cannot be graded afterwards")
    file, grades = folder.file, dict[str | None, Grade]()
    data = load_prepared(home, task, file.edition, file.variant)
    points: list[ScorePoint] = []
    elapsed: float | None = None
    for event in read_events(folder.events):
        if isinstance(event, CallFinished):
            elapsed = event.used.elapsed
        if not isinstance(event, SnapshotTaken):
            continue
        kept = load_snapshot(folder.snapshots, event.snapshot).files.get(task.submission.file)
        digest = kept.sha256 if kept else None
        if digest not in grades:
            grades[digest] = grade_snapshot(folder, digest, task, data, home)
        grade = grades[digest]
        points.append(
            ScorePoint(
                step=event.step,
                elapsed=elapsed,
                score=grade.score,
                valid=grade.valid_submission,
                medal=grade.medal,
                why=grade.why,
            )
        )
    return points


def grade_snapshot(folder: TrialFolder, digest: str | None, task: Task, data: Prepared, home: Home) -> Grade:
    """Grade a submission that a trial's snapshots keep, by its SHA-256; None is that there was none."""
    content = None if digest is None else read_object(folder.snapshots, digest)
    return grade_submission(content, task, data, home=home, isolated=True)
