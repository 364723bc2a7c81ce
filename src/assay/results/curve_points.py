"""The points of a trial's curve: what it had used and how good its submission was after each step.

The submissions of the nodes of a search are graded with them. Everything is graded once and kept in Assay's home, from
where it can be deleted at any time; records stay as they are.
"""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from assay.core.disk import atomic_write
from assay.core.errors import RecordError, UsageError
from assay.core.home import Home
from assay.core.quantities import Model
from assay.core.untrusted import read_plain
from assay.records import TrialFolder, read_events
from assay.records.search import find_submissions
from assay.results.outcome import Outcome
from assay.results.score_curve import GradedStep, SnapshotGrader, grade_picks
from assay.tasks import Task


class CurvePoint(Model):
    """What a trial had used by some moment, and how good its submission was; nothing of it if it was not valid."""

    step: int
    elapsed: float | None
    cost: float | None
    score: float | None = None
    percentile: float | None = None
    success: bool | None = None


class _StoredPoints(Model):
    format: Literal["curve-points/2"] = "curve-points/2"
    trial: str
    stamp: tuple[int, int]
    points: tuple[CurvePoint, ...]
    scores: dict[str, float]


def load_points(folder: TrialFolder, home: Home) -> tuple[CurvePoint, ...] | None:
    """Return the points that are kept for this state of a trial's log; None if there are none."""
    stored = _load(folder, home)
    return stored.points if stored else None


def load_scores(folder: TrialFolder, home: Home) -> dict[str, float]:
    """Return the scores that are known of the submissions a trial had, by their SHA-256.

    They are those of its grade, and those that were graded after its end for the same state of its log.
    """
    stored = _load(folder, home)
    found = stored.scores if stored else {}
    entry, grade = folder.submission_entry, folder.grade
    if entry and entry.sha256 and grade and grade.valid_submission and grade.score is not None:
        found = found | {entry.sha256: grade.score}
    return found


def _load(folder: TrialFolder, home: Home) -> _StoredPoints | None:
    try:
        stored = _StoredPoints.model_validate_json(read_plain(_place(folder, home)))
    except (FileNotFoundError, RecordError, ValidationError, UsageError):  # the last: the home cannot be used
        return None
    return stored if stored.stamp == _stamp(folder) else None


def grade_points(folder: TrialFolder, task: Task, home: Home) -> tuple[CurvePoint, ...]:
    """Grade the submission after each step of a trial and that of each node of a search, and keep the results."""
    stamp, grader = _stamp(folder), SnapshotGrader(folder, task, home)
    points = _without_repetitions([_make_point(one) for one in grade_picks(folder, task, grader)])
    for _, digest in find_submissions(read_events(folder.events)):
        grader.grade(digest)
    stored = _StoredPoints(trial=str(folder.path), stamp=stamp, points=points, scores=grader.scores)
    atomic_write(_place(folder, home), stored.model_dump_json())
    return points


def make_final_point(outcome: Outcome) -> CurvePoint:
    """Return the point at the end of a trial, from its grade."""
    grade = outcome.grade if outcome.valid else None
    return CurvePoint(
        step=outcome.steps,
        elapsed=outcome.elapsed,
        cost=outcome.cost,
        score=outcome.score,
        percentile=grade.percentile if grade else None,
        success=outcome.success if grade else None,
    )


def _make_point(one: GradedStep) -> CurvePoint:
    valid = one.grade.valid_submission
    return CurvePoint(
        step=one.step,
        elapsed=one.used.elapsed if one.used else None,
        cost=one.used.cost if one.used else None,
        score=one.grade.score if valid else None,
        percentile=one.grade.percentile if valid else None,
        success=one.grade.success if valid else None,
    )


def _without_repetitions(points: Sequence[CurvePoint]) -> tuple[CurvePoint, ...]:
    """Leave out points at which the submission was the same as before."""
    kept: list[CurvePoint] = []
    for point in points:
        same = kept and all(getattr(point, n) == getattr(kept[-1], n) for n in ("score", "percentile", "success"))
        if not same:
            kept.append(point)
    return tuple(kept)


def _place(folder: TrialFolder, home: Home) -> Path:
    digest = hashlib.sha256(os.fsencode(folder.path.resolve())).hexdigest()[:32]
    return home.index / f"{digest}-points.json"


def _stamp(folder: TrialFolder) -> tuple[int, int]:
    found = folder.events.lstat()
    return found.st_mtime_ns, found.st_size
