"""A trial as another harness reports it, and the checks that its untrusted values pass."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from assay.core.errors import RecordError
from assay.core.text import one_line
from assay.grading.result import Grade, Integrity
from assay.records.state import Cause, Failure

SUCCESS = "success"
"""The metric of trials that only succeed or fail, whatever a harness calls it."""

_MAX_NAME = 200
_MAX_REASON = 400
_MAX_COUNT = 2**53


@dataclass(frozen=True)
class ReportedTrial:
    """One trial of another harness. None is what it does not report.

    `task` is the name in its benchmark, `suite` the benchmark. `success` is the outcome of a trial that succeeds or
    fails; `score` is in the units of `metric`, or with `task_metric` in those of Assay's task of this name. A trial
    with neither failed, by the fault of `cause`. With `binary`, scores of only 0 and 1 are failure and success.
    `lower_is_better` is None where nobody says which scores are better. `grade` is there where the harness reports one
    completely. A fork has a `parent`; of an attempt and its rerun, the one that does not count is `replaced` or
    `repeated`.
    """

    suite: str | None
    task: str
    agent: str
    model: str | None = None
    seed: int | None = None
    trial: str | None = None
    success: bool | None = None
    score: float | None = None
    metric: str | None = None
    task_metric: bool = False
    binary: bool = True
    lower_is_better: bool | None = False
    grade: Grade | None = None
    integrity: Integrity | None = None
    pending: bool = False
    parent: str | None = None
    replaces: str | None = None
    replaced: bool = False
    repeated: bool = False
    load: float | None = None
    cause: Cause | None = None
    failure: Failure | None = None
    error_type: str | None = None
    reason: str | None = None
    seconds: float | None = None
    steps: int | None = None
    tokens: int | None = None
    cost: float | None = None
    sealed: bool | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    edition: str | None = None
    variant: str | None = None
    conditions: Mapping[str, str] = field(default_factory=dict)
    trajectory: Path | None = None


def read_name(value: object, what: str) -> str:
    """Return the name of a task or an agent on one line; raise `RecordError` without one."""
    name = read_text(value)
    if not name:
        raise RecordError(f"{what} is missing")
    return name


def read_text(value: object, max_length: int = _MAX_NAME) -> str | None:
    """Return a text on one line, without control characters and cut where it is long; None if there is none."""
    if not isinstance(value, str | int) or isinstance(value, bool):
        return None
    return one_line(str(value), max_length) or None


def read_reason(value: object) -> str | None:
    """Return why a trial failed, on one line."""
    return read_text(value, _MAX_REASON)


def read_number(value: object) -> float | None:
    """Return a finite number; None for anything else."""
    if isinstance(value, bool):
        return float(value)
    if not isinstance(value, str | int | float):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def read_amount(value: object) -> float | None:
    """Return a number that is not negative, such as a cost; None for anything else."""
    number = None if isinstance(value, bool) else read_number(value)
    return number if number is not None and number >= 0 else None


def read_count(value: object) -> int | None:
    """Return a count; None for anything else."""
    number = read_amount(value)
    return int(number) if number is not None and number <= _MAX_COUNT and number == int(number) else None


def read_flag(value: object) -> bool | None:
    """Return true or false, which 1 and 0 also stand for; None for anything else."""
    if isinstance(value, str):
        return {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}.get(value.lower())
    number = read_number(value)
    return bool(number) if number in (0.0, 1.0) else None


def read_moment(value: object) -> datetime | None:
    """Return a time with its zone; None for anything else."""
    if not isinstance(value, str) or len(value) > 64:
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return moment if 1970 <= moment.year <= 3000 else None


def read_table(value: object) -> Mapping[str, Any]:
    """Return a JSON object; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def read_list(value: object) -> Sequence[Any]:
    """Return a JSON list; an empty one for anything else."""
    return value if isinstance(value, list) else ()
