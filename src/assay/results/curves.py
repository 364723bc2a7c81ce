"""Curves of agents over time, steps or cost: the mean over tasks of what each agent had by then.

A trial's value is a step function: that of the submission it would have made at that moment (its pick), and that of the
best submission it had made by then (the oracle). Before the first valid submission a value is 0, and a score missing;
after its end a trial keeps its last value. Tasks count equally, whatever the number of their seeds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from assay.results import inference
from assay.results.estimate import estimate_mean, interval_half_width
from assay.results.inference import Interval, Sample
from assay.results.measures import RATES
from assay.results.progress import Axis, CurveMeasure, ProgressRow, reach

_POSITIONS = 80
_MAX_CHANGES = 120
"""With more changes, curves are not exact between two positions."""
_LARGEST = 1e100
"""Scores beyond this cannot be drawn together with others."""


@dataclass(frozen=True)
class CurvePoint:
    """One level: the mean of the picks with its interval, and the mean of the best so far; None without any score."""

    level: float
    picked: float | None
    interval: Interval | None
    best: float | None


@dataclass(frozen=True)
class Curve:
    """One agent at all levels."""

    agent: str
    tasks: int
    trials: int
    points: tuple[CurvePoint, ...]


def make_curves(trials: Sequence[Sequence[ProgressRow]], measure: CurveMeasure, axis: Axis) -> list[Curve]:
    """Return the curve of each agent at the same levels; scores have a mean only over trials of one task."""
    if measure == "score" and len({rows[0].task for rows in trials}) > 1:
        raise ValueError("scores of different tasks have no mean")
    changes = {used for rows in trials for row in rows if (used := row.amount(axis)) is not None}
    # A little beyond the last change, so that what was reached at the very end can be seen.
    levels = np.linspace(0.0, 1.05 * max(changes, default=0.0), _POSITIONS)
    if len(changes) <= _MAX_CHANGES:
        levels = np.union1d(levels, sorted(changes))
    by_agent: dict[str, list[Sequence[ProgressRow]]] = {}
    for rows in trials:
        by_agent.setdefault(rows[0].agent, []).append(rows)
    return [
        Curve(
            agent=agent,
            tasks=len({rows[0].task for rows in own}),
            trials=len(own),
            points=tuple(compute_curve(own, measure, axis, list(map(float, levels)), over_seeds=True)),
        )
        for agent, own in by_agent.items()
    ]


def compute_curve(
    trials: Sequence[Sequence[ProgressRow]],
    measure: CurveMeasure,
    axis: Axis,
    levels: Sequence[float],
    *,
    over_seeds: bool = False,
) -> list[CurvePoint]:
    """Return the points of one agent's curve at levels, which ascend.

    With `over_seeds`, a single task has an interval over its seeds whatever the measure is.
    """
    intervals: dict[tuple[tuple[float, ...], ...], Interval | None] = {}
    points = []
    reached = [reach(rows, axis, levels) for rows in trials]
    for number, level in enumerate(levels):
        picked = _sample([at[number][0] for at in reached], trials, measure)
        key = tuple(map(tuple, picked.values()))
        if key not in intervals:  # computed once for all levels between two changes
            intervals[key] = compute_interval(picked, measure, over_seeds=over_seeds)
        best = _sample([at[number][1] for at in reached], trials, measure)
        points.append(CurvePoint(level, _mean(picked), intervals[key], _mean(best)))
    return points


def compute_interval(sample: Sample, measure: CurveMeasure, *, over_seeds: bool = False) -> Interval | None:
    """Return the interval of a mean over tasks; None for a single task, unless its trials are a sample."""
    if measure in RATES and sample:
        return inference.infer_mean(sample).interval
    means = [fmean(values) for values in sample.values()]
    if len(means) == 1 and over_seeds:
        (means,) = map(list, sample.values())
    estimate = estimate_mean(means)
    half = interval_half_width(estimate) if estimate else None
    return Interval(estimate.mean - half, estimate.mean + half) if estimate and half else None


def _sample(
    rows: Sequence[ProgressRow | None], trials: Sequence[Sequence[ProgressRow]], measure: CurveMeasure
) -> dict[str, list[float]]:
    """Return the values by task; a missing score is excluded, and so is a task that has none."""
    sample: dict[str, list[float]] = {}
    for row, own in zip(rows, trials, strict=True):
        value = row.value(measure) if row else None
        if measure != "score":
            sample.setdefault(own[0].task, []).append(value or 0.0)
        elif value is not None and abs(value) < _LARGEST:
            sample.setdefault(own[0].task, []).append(value)
    return sample


def _mean(sample: Sample) -> float | None:
    return inference.mean_over_tasks(sample) if sample else None
