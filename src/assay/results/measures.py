"""Measures: what agents are compared by, as a value per trial and as a sample of values by task."""

import math
from collections.abc import Sequence
from statistics import fmean
from typing import Literal, get_args

from assay.results.frame import TrialRow, group_by
from assay.results.inference import Sample

Measure = Literal["success", "valid", "percentile", "normalized", "improvement", "wins"]
MEASURES: tuple[Measure, ...] = get_args(Measure)
RATES: tuple[Measure, ...] = ("success", "valid")
"""The measures of which each trial is 0 or 1."""


def measure_trial(row: TrialRow, measure: Measure) -> float | None:
    """Return the value of one trial, 0 for a failed one; None where its task does not define the measure.

    `wins` is not defined for a trial alone.
    """
    if row.failure is not None:
        return 0.0
    match measure:
        case "valid":
            return float(row.valid)
        case "success":
            return None if row.success is None else float(row.success)
        case "improvement":
            return row.improvement
        case "normalized":
            return row.normalized
        case "percentile":
            return None if row.percentile is None else row.percentile / 100
        case "wins":
            return None


def measure_task(trials: Sequence[TrialRow], measure: Measure, rivals: Sequence[TrialRow] = ()) -> list[float]:
    """Return the values of finished trials of one agent on one task; nothing where it does not define the measure.

    For `wins`, `rivals` are the trials of all agents on the task.
    """
    if measure == "wins":
        others = [row for row in rivals if row.agent != trials[0].agent and not row.pending] if trials else []
        values = [_share_of_wins(row, others) for row in trials]
    else:
        values = [measure_trial(row, measure) for row in trials]
    known = [value for value in values if value is not None]
    return known if len(known) == len(values) else []


def sample_measure(rows: Sequence[TrialRow], measure: Measure, rivals: Sequence[TrialRow] = ()) -> Sample:
    """Return the values of an agent by task; tasks that do not define the measure are excluded.

    For `wins`, `rivals` are the trials of all agents.
    """
    by_task = group_by(rivals, lambda row: row.task)
    others = {trials[0].task: trials for trials in by_task}
    samples = {
        trials[0].task: measure_task(trials, measure, others.get(trials[0].task, ()))
        for trials in group_by(rows, lambda row: row.task)
    }
    return {task: values for task, values in samples.items() if values}


def sample_successes(rows: Sequence[TrialRow]) -> dict[str, list[float]]:
    """Return the successes of an agent by task, in the order of seeds; tasks that define no success are excluded."""
    sample: dict[str, list[float]] = {}
    for trials in group_by(sorted(rows, key=lambda row: row.seed), lambda row: row.task):
        values = [float(row.success) for row in trials if row.success is not None]
        if values and not any(row.valid and row.success is None for row in trials):
            sample[trials[0].task] = values
    return sample


def _share_of_wins(row: TrialRow, rivals: Sequence[TrialRow]) -> float | None:
    """Return the share of the other agents' trials on the task that a trial beats; a tie is half a win."""
    if not rivals:
        return None
    sign = -1 if row.direction == "lower" else 1
    own = -math.inf if row.score is None else sign * row.score
    others = [-math.inf if rival.score is None else sign * rival.score for rival in rivals]
    return fmean((own > other) + 0.5 * (own == other) for other in others)
