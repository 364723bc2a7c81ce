"""Curves of agents over time, steps or cost: the mean over tasks of what each agent had reached by then.

A trial's value is a step function: that of the submission in its workspace (the agent's own pick), and that of the
best submission it has had so far. Before the first valid submission it is 0, and after its end a trial keeps its last
value. Tasks count equally, whatever the number of their seeds.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from assay.results.curve_points import CurvePoint
from assay.results.inference import Interval
from assay.results.outcome import Outcome

CurveMeasure = Literal["success", "percentile", "score"]
CurveAxis = Literal["time", "steps", "cost"]
CURVE_MEASURES: tuple[CurveMeasure, ...] = get_args(CurveMeasure)
CURVE_AXES: tuple[CurveAxis, ...] = get_args(CurveAxis)
_PLACES = 80
_MAX_CHANGES = 200
"""Where there are more changes, curves are not exact between two places."""
_NORMAL = 1.96
_LARGEST = 1e100
"""Scores beyond this, or infinite ones, cannot be drawn together with others."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class TrialPoints:
    """A trial and the grades of its submissions in order; at least the last one."""

    outcome: Outcome
    points: tuple[CurvePoint, ...]


@dataclass(frozen=True)
class Curve:
    """One agent: at each place of the axis the mean of its own picks with an interval, and of the best so far."""

    agent: str
    tasks: int
    trials: int
    x: tuple[float, ...]
    own: tuple[float | None, ...]
    interval: tuple[Interval | None, ...]
    best: tuple[float | None, ...]


def make_curves(trials: Sequence[TrialPoints], measure: CurveMeasure, axis: CurveAxis) -> list[Curve]:
    """Return the curve of each agent; scores have a mean only over trials of one task."""
    if measure == "score" and len({one.outcome.task for one in trials}) > 1:
        raise ValueError("scores of different tasks have no mean")
    changes = {place for one in trials for point in one.points if (place := _place(point, axis)) is not None}
    # A little beyond the last change, so that what was reached at the very end can be seen.
    x = np.linspace(0.0, 1.05 * max(changes, default=0.0), _PLACES)
    if len(changes) <= _MAX_CHANGES:
        x = np.union1d(x, sorted(changes))
    by_agent: dict[str, list[TrialPoints]] = {}
    for one in trials:
        by_agent.setdefault(one.outcome.agent, []).append(one)
    return [_curve(agent, same, x, measure, axis) for agent, same in by_agent.items()]


def _curve(agent: str, trials: Sequence[TrialPoints], x: Floats, measure: CurveMeasure, axis: CurveAxis) -> Curve:
    own, best = (_by_task(trials, x, measure, axis, best_so_far=flag) for flag in (False, True))
    means = np.vstack([_nanmean(rows) for rows in own.values()])
    # With one task, its seeds are all that there is a spread of.
    sample = means if len(own) > 1 else next(iter(own.values()))
    return Curve(
        agent=agent,
        tasks=len(own),
        trials=len(trials),
        x=tuple(map(float, x)),
        own=_as_values(_nanmean(means)),
        interval=tuple(_interval(sample[:, place], measure) for place in range(len(x))),
        best=_as_values(_nanmean(np.vstack([_nanmean(rows) for rows in best.values()]))),
    )


def _by_task(
    trials: Sequence[TrialPoints], x: Floats, measure: CurveMeasure, axis: CurveAxis, *, best_so_far: bool
) -> Mapping[str, Floats]:
    """Return for each task an array with a row for each of its trials."""
    rows: dict[str, list[Floats]] = {}
    for one in trials:
        rows.setdefault(one.outcome.task, []).append(_values(one, x, measure, axis, best_so_far=best_so_far))
    return {task: np.vstack(same) for task, same in rows.items()}


def _values(one: TrialPoints, x: Floats, measure: CurveMeasure, axis: CurveAxis, *, best_so_far: bool) -> Floats:
    """Return the value of a trial at each place of the axis."""
    found = np.full(len(x), np.nan if measure == "score" else 0.0)
    better: Callable[[float, float], float] = min if measure == "score" and one.outcome.direction == "lower" else max
    best: float | None = None
    for point in one.points:
        place, value = _place(point, axis), _value(point, measure)
        if place is None:
            continue
        if best_so_far and value is not None:
            value = best = value if best is None else better(best, value)
        elif best_so_far:
            value = best
        empty = np.nan if measure == "score" else 0.0
        found[x >= place - 1e-9] = empty if value is None else value
    return found


def _value(point: CurvePoint, measure: CurveMeasure) -> float | None:
    if measure == "success":
        return None if point.success is None else float(point.success)
    value = point.percentile if measure == "percentile" else point.score
    return value if value is not None and abs(value) < _LARGEST else None


def _place(point: CurvePoint, axis: CurveAxis) -> float | None:
    if axis == "time":
        return point.elapsed
    return float(point.step) if axis == "steps" else point.cost


def _interval(values: Floats, measure: CurveMeasure) -> Interval | None:
    known = values[~np.isnan(values)]
    if len(known) < 2:
        return None
    reach = _NORMAL * float(np.std(known, ddof=1)) / len(known) ** 0.5
    low, high = float(known.mean()) - reach, float(known.mean()) + reach
    if measure == "score":
        return Interval(low, high)
    top = 1.0 if measure == "success" else 100.0
    return Interval(max(low, 0.0), min(high, top))


def _nanmean(rows: Floats) -> Floats:
    counts = (~np.isnan(rows)).sum(axis=0)
    sums = np.nansum(rows, axis=0)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _as_values(found: Floats) -> tuple[float | None, ...]:
    return tuple(None if np.isnan(value) else float(value) for value in found)
