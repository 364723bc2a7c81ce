"""The leaderboard: one line per agent over all tasks with the same rules."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf
from statistics import fmean, median_low

from assay.results import inference
from assay.results.frame import TrialRow, group_by
from assay.results.inference import Families, Interval
from assay.results.measures import sample_measure


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


def make_lines(rows: Sequence[TrialRow], families: Families) -> list[Line]:
    """Return the agents, the one with the highest success rate first."""
    by_agent = group_by((row for row in rows if row.counts), lambda row: row.agent)
    lines = [_make_line(trials, families) for trials in by_agent]
    return sorted(lines, key=lambda line: (-_or_low(line.success), -_or_low(line.improvement), line.agent))


def _make_line(trials: Sequence[TrialRow], families: Families) -> Line:
    sample = {task[0].task: rates for task in group_by(trials, lambda row: row.task) if (rates := _successes(task))}
    ended = [row for row in trials if not row.pending and not row.inapplicable]
    costs = [row.cost for row in ended]
    return Line(
        agent=trials[0].agent,
        models=tuple(dict.fromkeys(row.model for row in trials if row.model)),
        tasks=len({row.task for row in trials if not row.inapplicable}),
        trials=len(trials),
        finished=len(ended),
        valid=sum(row.valid for row in ended),
        success=inference.mean_over_tasks(sample) if sample else None,
        interval=inference.infer_mean(sample, families=families).interval if sample else None,
        error=inference.task_error(sample) if sample else None,
        percentile=_mean_percentile(ended),
        improvement=_median_improvement(ended),
        seconds=_mean(row.elapsed for row in ended),
        cost=None if any(cost is None for cost in costs) else _mean(costs),
        tokens=None if not ended else round(fmean(row.tokens for row in ended)),
        sealed=not any(row.unsealed for row in trials),
        failures=sum(row.failure is not None for row in trials),
    )


def _successes(task: Sequence[TrialRow]) -> list[float]:
    """Return the successes of the finished trials of a task; nothing where the task does not define success."""
    if any(row.valid and row.success is None for row in task):
        return []
    return [float(row.success) for row in task if row.success is not None]


def _mean_percentile(ended: Sequence[TrialRow]) -> float | None:
    """Return the mean percentile over tasks, a failed trial counting as 0; None where tasks have no leaderboard."""
    sample = sample_measure(ended, "percentile")
    return 100 * inference.mean_over_tasks(sample) if any(row.has_leaderboard for row in ended) and sample else None


def _median_improvement(ended: Sequence[TrialRow]) -> float | None:
    """Return the median over tasks of the median improvement, failed trials being below all; None where it is one."""
    tasks = group_by(ended, lambda row: row.task)
    known = [task for task in tasks if any(row.improvement is not None or row.failure for row in task)]
    medians = [median_low([-inf if row.improvement is None else row.improvement for row in task]) for task in known]
    overall = median_low(medians) if medians else -inf
    return None if overall == -inf else overall


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _or_low(value: float | None) -> float:
    return -1e300 if value is None else value
