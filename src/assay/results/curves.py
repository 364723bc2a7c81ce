"""Curves of agents over time, steps or cost: the mean over tasks of what each agent had by then.

A trial's value is a step function: that of the submission it would have made at that moment (its pick), and that of the
best submission it had made by then (the oracle). Before the first valid submission a value is 0, and a score missing;
after its end a trial keeps its last value. Tasks count equally, whatever the number of their seeds.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.core.values import Estimate
from assay.results.claims import Claim, Population, claim_sample
from assay.results.estimate import estimate_mean
from assay.results.inference import Sample
from assay.results.progress import Axis, CurveMeasure, ProgressRow, reach

_POSITIONS = 80
_MAX_CHANGES = 120
"""With more changes, curves are not exact between two positions."""
_LARGEST = 1e100
"""Scores beyond this cannot be drawn together with others."""


@dataclass(frozen=True)
class CurvePoint:
    """One level: what the agent picked and the best it had by then, as claims; None without any score.

    Scores of a task have no claim, but a mean over its seeds. `sample` has the values of the picks by task.
    """

    level: float
    picked: Claim | Estimate | None
    best: Claim | Estimate | None
    sample: Sample


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
            points=tuple(compute_curve(own, measure, axis, list(map(float, levels)))),
        )
        for agent, own in by_agent.items()
    ]


def compute_curve(
    trials: Sequence[Sequence[ProgressRow]], measure: CurveMeasure, axis: Axis, levels: Sequence[float]
) -> list[CurvePoint]:
    """Return the points of one agent's curve at levels, which ascend; a curve of one task is about that task."""
    known: dict[tuple[tuple[float, ...], ...], Claim | Estimate | None] = {}

    def state(sample: Sample) -> Claim | Estimate | None:
        key = tuple(map(tuple, sample.values()))
        if key not in known:  # computed once for all levels between two changes
            known[key] = state_mean(trials[0][0].agent, measure, sample)
        return known[key]

    points = []
    reached = [reach(rows, axis, levels) for rows in trials]
    for number, level in enumerate(levels):
        picked, best = (_sample([at[number][kind] for at in reached], trials, measure) for kind in range(2))
        points.append(CurvePoint(level, state(picked), state(best), picked))
    return points


def state_mean(agent: str, measure: CurveMeasure, sample: Sample) -> Claim | Estimate | None:
    """Return the mean over tasks like these, or on the only task; of scores, the mean over the seeds of the task."""
    if not sample:
        return None
    if measure == "score":
        return estimate_mean(value for values in sample.values() for value in values)
    population = Population.LIKE if len(sample) > 1 else Population.THESE
    return claim_sample(agent, measure, sample, population=population)


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
