"""Trials added up: per agent and task, and per agent over tasks.

Grades of different suites, editions or data variants are never added up. A crashed or invalid trial counts as a
failure in every rate; means of scores are over valid trials, and every result says how many of how many those are.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from statistics import NormalDist, fmean, stdev
from typing import Literal, TypeVar

from assay.records.trial import Cause
from assay.results.outcome import Outcome, Rules

Item = TypeVar("Item")


@dataclass(frozen=True)
class Estimate:
    """A mean with its standard error, which one value alone does not have."""

    n: int
    mean: float
    error: float | None
    low: float
    high: float


@dataclass(frozen=True)
class Rate:
    """A share of trials with its 95 % Wilson interval."""

    count: int
    trials: int
    low: float
    high: float

    @property
    def value(self) -> float:
        """The share itself."""
        return self.count / self.trials


@dataclass(frozen=True)
class Medals:
    """How many trials ended with which medal."""

    gold: int
    silver: int
    bronze: int


@dataclass(frozen=True)
class Reason:
    """What kept some trials from a score, in the record's words; without a cause where the task does not apply."""

    cause: Cause | None
    why: str
    trials: int


@dataclass(frozen=True)
class Cell:
    """One agent on one task: its trials added up."""

    rules: Rules
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
    reasons: tuple[Reason, ...]
    score: Estimate | None
    improvement: Estimate | None
    success: Rate | None
    rank: Estimate | None
    panel_size: int | None
    percentile: Estimate | None
    medals: Medals | None
    sealed: bool
    best: bool = False

    @property
    def finished(self) -> int:
        """Trials that ended, well or badly."""
        return self.valid + sum(self.failures.values())

    @property
    def applies(self) -> bool:
        """Whether the agent can take the task."""
        return self.inapplicable < self.trials


@dataclass(frozen=True)
class Standing:
    """One agent over all tasks judged by the same rules."""

    rules: Rules
    agent: str
    tasks: int
    inapplicable_tasks: int
    trials: int
    pending: int
    failures: Mapping[Cause, int]
    valid: Rate | None
    success: Rate | None
    success_without_infrastructure: Rate | None
    mean_over_tasks: Estimate | None
    sealed: bool


def cells(outcomes: Sequence[Outcome]) -> list[Cell]:
    """Every agent on every task, in the order in which rules, tasks and agents first appear."""
    by_task = [task for same in grouped(outcomes, lambda o: o.rules) for task in grouped(same, lambda o: o.task)]
    return [cell for task in by_task for cell in _with_best([_cell(same) for same in grouped(task, lambda o: o.agent)])]


def standings(outcomes: Sequence[Outcome]) -> list[Standing]:
    """Every agent over all its tasks, apart for each set of rules."""
    by_rules = grouped(outcomes, lambda o: o.rules)
    return [_standing(group) for same in by_rules for group in grouped(same, lambda o: o.agent)]


def estimate(values: Iterable[float]) -> Estimate | None:
    """Mean, standard error (sample standard deviation over √n), smallest and largest of `values`."""
    found = list(values)
    if not found:
        return None
    error = stdev(found) / sqrt(len(found)) if len(found) > 1 else None
    return Estimate(len(found), fmean(found), error, min(found), max(found))


def rate(count: int, trials: int) -> Rate | None:
    """`count` of `trials` with its interval; None of nothing."""
    return Rate(count, trials, *wilson(count, trials)) if trials else None


def wilson(count: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """The Wilson score interval of a share, which stays within 0 and 1 and has a width even at 0 of n.

    With p = count / n and z the normal quantile:  (p + z²/2n ± z √(p(1−p)/n + z²/4n²)) / (1 + z²/n).
    """
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share, shrink = count / trials, 1 + z * z / trials
    centre = (share + z * z / (2 * trials)) / shrink
    half = z * sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials)) / shrink
    low = 0.0 if count == 0 else centre - half
    high = 1.0 if count == trials else centre + half
    return low, high


def grouped(items: Iterable[Item], key: Callable[[Item], Hashable]) -> list[list[Item]]:
    """Items with the same key together, in the order in which keys first appear."""
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
        reasons=_reasons(group),
        score=estimate(o.score for o in valid if o.score is not None),
        improvement=estimate(o.improvement for o in valid if o.improvement is not None),
        success=_success(group),
        rank=estimate(grade.rank for grade in grades if grade.rank is not None),
        panel_size=sizes.pop() if len(sizes) == 1 else None,
        percentile=estimate(grade.percentile for grade in grades if grade.percentile is not None),
        medals=_medals(group),
        sealed=_sealed(group),
    )


def _standing(group: Sequence[Outcome]) -> Standing:
    tasks = [_cell(task) for task in grouped(group, lambda o: o.task)]
    judged = [cell.success for cell in tasks if cell.success is not None]
    successes, trials = sum(success.count for success in judged), sum(success.trials for success in judged)
    faults = sum(cell.failures.get("infrastructure", 0) for cell in tasks if cell.success is not None)
    return Standing(
        rules=group[0].rules,
        agent=group[0].agent,
        tasks=len(tasks),
        inapplicable_tasks=sum(not cell.applies for cell in tasks),
        trials=len(group),
        pending=sum(cell.pending for cell in tasks),
        failures=_failures(group),
        valid=rate(sum(cell.valid for cell in tasks), sum(cell.finished for cell in tasks)),
        success=rate(successes, trials),
        success_without_infrastructure=rate(successes, trials - faults) if faults else None,
        mean_over_tasks=estimate(success.value for success in judged),
        sealed=_sealed(group),
    )


def _success(group: Sequence[Outcome]) -> Rate | None:
    """The success rate over finished trials; None where the task does not say what success is."""
    if any(outcome.valid and outcome.success is None for outcome in group):
        return None
    judged = [outcome.success for outcome in group if outcome.success is not None]
    return rate(sum(judged), len(judged))


def _failures(group: Iterable[Outcome]) -> dict[Cause, int]:
    return dict(Counter(outcome.failure for outcome in group if outcome.failure is not None))


def _reasons(group: Iterable[Outcome]) -> tuple[Reason, ...]:
    without = [outcome for outcome in group if outcome.failure is not None or outcome.inapplicable]
    counts = Counter((outcome.failure, outcome.reason or "the record does not say why") for outcome in without)
    return tuple(Reason(cause, why, trials) for (cause, why), trials in counts.items())


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
    """Mark the best mean score among the agents of one task, where there are at least two to compare."""
    means = [cell.score.mean for cell in task if cell.score is not None]
    if len(means) < 2:
        return list(task)
    best = max(means) if task[0].direction == "higher" else min(means)
    return [replace(cell, best=cell.score is not None and cell.score.mean == best) for cell in task]
