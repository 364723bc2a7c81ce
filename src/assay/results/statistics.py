"""Statistics of trials: per agent and task, and per agent over tasks.

Grades of different suites, editions or variants are never combined. A crashed or invalid trial counts as a failure in
every rate; means of scores are over valid trials, and every result says how many of how many those are. Forks and
trials that were rerun are no independent samples and are left out.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from math import atan, cos, hypot, pi, sin, sqrt, tan
from statistics import fmean, median, stdev
from typing import Literal, TypeVar

from assay.core.values import Estimate as Estimate
from assay.core.values import Rate as Rate
from assay.records.state import Cause
from assay.results.inference import (
    ErrorKind,
    detectable_difference,
    pass_curves,
    rate_interval,
    standard_errors,
    wilson_interval,
)
from assay.results.outcome import Outcome, RuleSet

Item = TypeVar("Item")


@dataclass(frozen=True)
class Medals:
    """Number of trials by medal."""

    gold: int
    silver: int
    bronze: int


@dataclass(frozen=True)
class Reason:
    """Why some trials have no score, in the words of the record; without a failure where the task does not apply."""

    failure: str | None
    why: str
    trials: int


@dataclass(frozen=True)
class Cell:
    """The trials of one agent on one task."""

    rules: RuleSet
    task: str
    title: str
    metric: str
    direction: Literal["higher", "lower"]
    agent: str
    trials: int
    valid: int
    pending: int
    inapplicable: int
    failures: Mapping[Cause, int]
    kinds_of_failure: Mapping[str, int]
    reasons: tuple[Reason, ...]
    score: Estimate | None
    improvement: Estimate | None
    success: Rate | None
    success_published: Rate | None
    rank: Estimate | None
    panel_size: int | None
    percentile: Estimate | None
    medals: Medals | None
    sealed: bool
    best: bool = False
    tied: bool = False

    @property
    def finished(self) -> int:
        """Trials that ended, valid or not."""
        return self.valid + sum(self.failures.values())

    @property
    def applies(self) -> bool:
        """Whether the agent can work on the task."""
        return self.inapplicable < self.trials


@dataclass(frozen=True)
class Standing:
    """One agent over all tasks with the same rules.

    `errors` are the standard errors of the success rate over tasks by kind. `pass_at` and `pass_all` are the
    probabilities that one, or all, of k attempts at a task succeed, by k.
    """

    rules: RuleSet
    agent: str
    tasks: int
    inapplicable_tasks: int
    trials: int
    pending: int
    failures: Mapping[Cause, int]
    valid: Rate | None
    success: Rate | None
    success_published: Rate | None
    success_without_infrastructure: Rate | None
    mean_over_tasks: Estimate | None
    errors: Mapping[ErrorKind, float | None]
    pass_at: Mapping[int, float]
    pass_all: Mapping[int, float]
    sealed: bool


def summarize_cells(outcomes: Sequence[Outcome]) -> list[Cell]:
    """Return every agent on every task, in the order in which rules, tasks and agents first appear."""
    outcomes = [outcome for outcome in outcomes if outcome.counts]
    by_task = [task for same in group_by(outcomes, lambda o: o.rules) for task in group_by(same, lambda o: o.task)]
    return [
        cell for task in by_task for cell in _with_best([_cell(same) for same in group_by(task, lambda o: o.agent)])
    ]


def summarize_standings(outcomes: Sequence[Outcome], cells: Sequence[Cell] | None = None) -> list[Standing]:
    """Return every agent over all its tasks, separately for each set of rules.

    `cells` are those of `summarize_cells`, if they are known already.
    """
    cells = summarize_cells(outcomes) if cells is None else cells
    by_agent = {(same[0].rules, same[0].agent): same for same in group_by(cells, lambda one: (one.rules, one.agent))}
    by_rules = group_by((outcome for outcome in outcomes if outcome.counts), lambda o: o.rules)
    return [
        _standing(group, by_agent[group[0].rules, group[0].agent])
        for same in by_rules
        for group in group_by(same, lambda o: o.agent)
    ]


def sample_successes(outcomes: Sequence[Outcome]) -> dict[str, list[float]]:
    """Return the successes of an agent by task, in the order of seeds; tasks that define no success are left out."""
    sample: dict[str, list[float]] = {}
    for task in group_by(sorted(outcomes, key=lambda o: o.seed), lambda o: o.task):
        values = [float(one.success) for one in task if one.success is not None]
        if values and not any(one.valid and one.success is None for one in task):
            sample[task[0].task] = values
    return sample


def estimate_mean(values: Iterable[float]) -> Estimate | None:
    """Return the mean, standard error (sample standard deviation over √n), minimum and maximum of `values`."""
    found = list(values)
    if not found:
        return None
    count, mean = len(found), fmean(found)
    # Many times faster than statistics.stdev, which computes with fractions; `hypot` does not overflow on huge scores.
    error = hypot(*(one - mean for one in found)) / sqrt(count * (count - 1)) if count > 1 else None
    return Estimate(count, mean, error, min(found), max(found))


def estimate_rate(count: int, trials: int) -> Rate | None:
    """Return `count` of `trials` with its interval; None without trials."""
    return Rate(count, trials, *wilson_interval(count, trials)) if trials else None


def group_by(items: Iterable[Item], key: Callable[[Item], Hashable]) -> list[list[Item]]:
    """Group items by key, in the order in which keys first appear."""
    groups: dict[Hashable, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return list(groups.values())


def _cell(group: Sequence[Outcome]) -> Cell:
    first, valid = group[0], [outcome for outcome in group if outcome.valid]
    grades = [outcome.grade for outcome in valid if outcome.grade is not None]
    sizes = {grade.panel_size for grade in grades if grade.panel_size is not None}
    return Cell(
        rules=first.rules,
        task=first.task,
        title=first.title,
        metric=first.metric,
        direction=first.direction,
        agent=first.agent,
        trials=len(group),
        valid=len(valid),
        pending=sum(outcome.pending for outcome in group),
        inapplicable=sum(outcome.inapplicable for outcome in group),
        failures=_failures(group),
        kinds_of_failure=dict(Counter(name for outcome in group if (name := outcome.failure_name))),
        reasons=_reasons(group),
        score=estimate_mean(o.score for o in valid if o.score is not None),
        improvement=estimate_mean(o.improvement for o in valid if o.improvement is not None),
        success=estimate_success(group, lambda o: o.success),
        success_published=estimate_success(group, lambda o: o.success_published),
        rank=estimate_mean(grade.rank for grade in grades if grade.rank is not None),
        panel_size=sizes.pop() if len(sizes) == 1 else None,
        percentile=estimate_mean(grade.percentile for grade in grades if grade.percentile is not None),
        medals=_medals(group),
        sealed=_sealed(group),
    )


def _standing(group: Sequence[Outcome], tasks: Sequence[Cell]) -> Standing:
    judged = [cell.success for cell in tasks if cell.success is not None]
    judged_tasks = [cell for cell in tasks if cell.success is not None]
    infrastructure = [cell.failures.get("infrastructure", 0) for cell in judged_tasks]
    without = {
        cell.task: (rate.count, rate.trials - failed)
        for cell, rate, failed in zip(judged_tasks, judged, infrastructure, strict=True)
    }
    splits = {outcome.task: outcome.split for outcome in group}
    successes = sample_successes(group)
    pass_at, pass_all = pass_curves(successes) if successes else ({}, {})
    counts = {cell.task: _counts(cell.success) for cell in tasks}
    published = {cell.task: _counts(cell.success_published) for cell in tasks}
    success = _rate_over_tasks(counts, splits)
    return Standing(
        rules=group[0].rules,
        agent=group[0].agent,
        tasks=len(tasks),
        inapplicable_tasks=sum(not cell.applies for cell in tasks),
        trials=len(group),
        pending=sum(cell.pending for cell in tasks),
        failures=_failures(group),
        valid=_rate_over_tasks({cell.task: (cell.valid, cell.finished) for cell in tasks}, splits),
        success=success,
        success_published=success if published == counts else _rate_over_tasks(published, splits),
        success_without_infrastructure=_rate_over_tasks(without, splits) if any(infrastructure) else None,
        mean_over_tasks=estimate_mean(success.value for success in judged),
        errors=standard_errors(successes) if successes else {},
        pass_at=pass_at,
        pass_all=pass_all,
        sealed=_sealed(group),
    )


def _rate_over_tasks(counts: Mapping[str, tuple[int, int]], splits: Mapping[str, str]) -> Rate | None:
    """Return the share over all trials, from count and trials of each task, with an interval that is over tasks."""
    sample = {task: [1.0] * hits + [0.0] * (trials - hits) for task, (hits, trials) in counts.items() if trials}
    if not sample:
        return None
    interval = rate_interval(sample, strata=splits)
    hits = sum(hits for hits, _ in counts.values())
    return Rate(hits, sum(map(len, sample.values())), interval.low, interval.high)


def _counts(rate: Rate | None) -> tuple[int, int]:
    return (rate.count, rate.trials) if rate else (0, 0)


def detectable_difference_in_success(outcomes: Sequence[Outcome]) -> float | None:
    """Return the smallest difference in success rate that two agents on these tasks would show with 80 % power.

    The spread of differences by task is the median over the pairs of agents; a single agent is compared with one that
    varies as much. None with fewer than two tasks, or where nothing varies.
    """
    rates = [_success_by_task(same) for same in group_by((o for o in outcomes if o.counts), lambda o: o.agent)]
    if len(rates) == 1:
        spreads = [(sqrt(2) * stdev(rates[0].values()), len(rates[0]))] if len(rates[0]) > 1 else []
    else:
        pairs = [[one[task] - other[task] for task in one if task in other] for one, other in combinations(rates, 2)]
        spreads = [(stdev(pair), len(pair)) for pair in pairs if len(pair) > 1]
    found = [detectable_difference(spread, tasks) for spread, tasks in spreads if spread]
    return median(found) if found else None


def _success_by_task(outcomes: Sequence[Outcome]) -> dict[str, float]:
    found = {same[0].task: estimate_success(same, lambda o: o.success) for same in group_by(outcomes, lambda o: o.task)}
    return {task: rate.value for task, rate in found.items() if rate is not None}


def estimate_success(group: Sequence[Outcome], succeeded: Callable[[Outcome], bool | None]) -> Rate | None:
    """Return the success rate over finished trials; None where the task does not define success."""
    if any(outcome.valid and succeeded(outcome) is None for outcome in group):
        return None
    judged = [verdict for verdict in map(succeeded, group) if verdict is not None]
    return estimate_rate(sum(judged), len(judged))


def _failures(group: Iterable[Outcome]) -> dict[Cause, int]:
    return dict(Counter(outcome.failure for outcome in group if outcome.failure is not None))


def _reasons(group: Iterable[Outcome]) -> tuple[Reason, ...]:
    without = [outcome for outcome in group if outcome.failure is not None or outcome.inapplicable]
    counts = Counter((outcome.failure_name, outcome.reason or "no reason recorded") for outcome in without)
    return tuple(Reason(failure, why, trials) for (failure, why), trials in counts.items())


def _medals(group: Iterable[Outcome]) -> Medals | None:
    grades = [o.grade for o in group if o.grade is not None and o.has_leaderboard and o.valid]
    if not grades:
        return None
    return Medals(
        gold=sum(grade.gold_medal for grade in grades),
        silver=sum(grade.silver_medal for grade in grades),
        bronze=sum(grade.bronze_medal for grade in grades),
    )


def _sealed(group: Iterable[Outcome]) -> bool:
    return not any(outcome.unsealed for outcome in group)


def _with_best(task: Sequence[Cell]) -> list[Cell]:
    """Mark the best agent of one task; where the data does not show which one is better, mark those that are tied.

    The best mean is better only if its 95 % interval overlaps that of no other agent, and if it fails no more often.
    """
    scored = [cell for cell in task if cell.score is not None]
    if len(scored) < 2:
        return list(task)
    sign = 1 if task[0].direction == "higher" else -1
    first = max(scored, key=lambda cell: sign * cell.score.mean if cell.score else 0.0)
    tied = [cell for cell in scored if cell is not first and not _is_better(first, cell)]
    if not tied:
        return [replace(cell, best=cell is first) for cell in task]
    return [replace(cell, tied=cell is first or cell in tied) for cell in task]


def _is_better(first: Cell, other: Cell) -> bool:
    """Whether the interval of the better mean does not overlap the other's, and the agent fails no more often."""
    assert first.score is not None and other.score is not None
    if first.valid * other.finished < other.valid * first.finished:
        return False
    widths = [interval_half_width(score) for score in (first.score, other.score)]
    if None in widths:
        return False
    return abs(first.score.mean - other.score.mean) > sum(width for width in widths if width is not None)


def interval_half_width(score: Estimate, confidence: float = 0.95) -> float | None:
    """Return half the width of the Student interval of a mean, which a single value does not have."""
    return None if score.error is None else t_quantile(score.n - 1, confidence) * score.error


@cache
def t_quantile(freedom: int, confidence: float) -> float:
    """Return the t with P(|T| ≤ t) = `confidence` for Student's distribution with `freedom` degrees of freedom.

    The probability is a finite sum of powers of cos θ with θ = atan(t / √freedom), which is inverted by bisection.
    """
    low, high = 0.0, pi / 2
    for _ in range(60):
        angle = (low + high) / 2
        low, high = (angle, high) if _t_probability(angle, freedom) < confidence else (low, angle)
    return tan(low) * sqrt(freedom)


def t_probability(t: float, freedom: int) -> float:
    """Return P(|T| ≤ t) for Student's distribution with `freedom` degrees of freedom."""
    return _t_probability(atan(t / sqrt(freedom)), freedom)


def _t_probability(angle: float, freedom: int) -> float:
    odd = freedom % 2
    term, total = (cos(angle) if odd else 1.0), 0.0
    for power in range(odd, freedom - 1, 2):
        total += term
        term *= cos(angle) ** 2 * (power + 1) / (power + 2)
    if odd:
        return 2 / pi * (angle + sin(angle) * total)
    return sin(angle) * total
