"""The points of a trial's curve: what it had used and how good its submission was after each step.

Points are graded once and kept in Assay's home, from where they can be deleted at any time; records stay as they are.
"""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from assay.core.disk import atomic_write
from assay.core.errors import RecordError
from assay.core.home import Home
from assay.core.quantities import Model
from assay.core.untrusted import read_plain
from assay.records import TrialFolder
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
    format: Literal["curve-points/1"] = "curve-points/1"
    trial: str
    stamp: tuple[int, int]
    points: tuple[CurvePoint, ...]


def load_points(folder: TrialFolder, home: Home) -> tuple[CurvePoint, ...] | None:
    """Return the points that are kept for this state of a trial's log; None if there are none."""
    try:
        stored = _StoredPoints.model_validate_json(read_plain(_place(folder, home)))
    except (FileNotFoundError, RecordError, ValidationError):
        return None
    return stored.points if stored.stamp == _stamp(folder) else None


def grade_points(folder: TrialFolder, task: Task, home: Home) -> tuple[CurvePoint, ...]:
    """Grade the submission after each step of a trial, and keep the points."""
    stamp = _stamp(folder)
    picks = grade_picks(folder, task, SnapshotGrader(folder, task, home))
    points = _without_repetitions([_make_point(one) for one in picks])
    stored = _StoredPoints(trial=str(folder.path), stamp=stamp, points=points)
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
