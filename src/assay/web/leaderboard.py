"""The leaderboard: one line per agent over all tasks with the same rules."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from assay.results import inference
from assay.results.inference import Interval
from assay.results.outcome import Outcome
from assay.results.statistics import group_by


@dataclass(frozen=True)
class Line:
    """One agent: means over tasks, with failures as 0 in the success rate."""

    agent: str
    models: tuple[str, ...]
    tasks: int
    trials: int
    finished: int
    valid: int
    success: float | None
    interval: Interval | None
    error: float | None
    percentile: float | None
    improvement: float | None
    seconds: float | None
    cost: float | None
    tokens: int | None
    sealed: bool
    failures: int


def make_lines(outcomes: Sequence[Outcome], strata: Mapping[str, str]) -> list[Line]:
    """Return the agents, the one with the highest success rate first."""
    counted = [outcome for outcome in outcomes if outcome.counts]
    lines = [_line(same, strata) for same in group_by(counted, lambda one: one.agent)]
    return sorted(lines, key=lambda line: (-_or_low(line.success), -_or_low(line.improvement), line.agent))


def _line(same: Sequence[Outcome], strata: Mapping[str, str]) -> Line:
    sample = {task[0].task: rates for task in group_by(same, lambda one: one.task) if (rates := _successes(task))}
    ended = [one for one in same if not one.pending and not one.inapplicable]
    costs = [one.cost for one in ended]
    return Line(
        agent=same[0].agent,
        models=tuple(dict.fromkeys(one.model for one in same if one.model)),
        tasks=len({one.task for one in same if not one.inapplicable}),
        trials=len(same),
        finished=len(ended),
        valid=sum(one.valid for one in ended),
        success=inference.mean_over_tasks(sample) if sample else None,
        interval=inference.rate_interval(sample, strata=strata) if sample else None,
        error=inference.task_error(sample) if sample else None,
        percentile=_mean(one.grade.percentile for one in ended if one.valid and one.grade),
        improvement=_median(_mean(one.improvement for one in task) for task in group_by(ended, lambda one: one.task)),
        seconds=_mean(one.elapsed for one in ended),
        cost=None if any(cost is None for cost in costs) else _mean(costs),
        tokens=None if not ended else round(fmean(one.tokens for one in ended)),
        sealed=not any(one.unsealed for one in same),
        failures=sum(one.failure is not None for one in same),
    )


def _successes(task: Sequence[Outcome]) -> list[float]:
    """Return the successes of the finished trials of a task; nothing where the task does not define success."""
    if any(one.valid and one.success is None for one in task):
        return []
    return [float(one.success) for one in task if one.success is not None]


def _mean(values: Sequence[float | None] | Iterator[float | None]) -> float | None:
    found = [value for value in values if value is not None]
    return fmean(found) if found else None


def _median(values: Iterator[float | None]) -> float | None:
    found = [value for value in values if value is not None]
    return median(found) if found else None


def _or_low(value: float | None) -> float:
    return -1e300 if value is None else value
