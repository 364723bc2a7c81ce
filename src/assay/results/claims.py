"""Claims: what is said of agents, each with its estimand, population, missing trials, conditions and evidence.

Every rate, difference, rank and verdict that Assay prints is a `Claim` or a `Verdict` of this module. Two questions are
always answered together: what holds on these tasks, whose trials are a sample of all trials that could be run on them,
and what holds on tasks like these, of which they are a sample.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import ceil, inf
from statistics import NormalDist, fmean
from typing import Literal, assert_never

from assay.core.text import plural
from assay.core.values import Interval
from assay.results import inference
from assay.results.frame import TrialRow, group_by
from assay.results.inference import Families, Inference, Sample
from assay.results.measures import Measure, measure_task

MARGIN = 0.05
"""Agents are equivalent if they are at most five points apart, unless the plan says otherwise."""
ALPHA = 0.05
_MAX_FACTOR = 50

Outcome = Literal["better", "worse", "equivalent", "not known"]
MissingKind = Literal["pending", "infrastructure", "inapplicable", "rerun"]
Registration = Literal["as planned", "exploratory"]

MISSING_RULES: Mapping[MissingKind, str] = {
    "pending": "not in the estimate; as failures in the worst case, as perfect in the best",
    "infrastructure": "failures in the estimate and the worst case, perfect in the best",
    "inapplicable": "their tasks are compared for no agent",
    "rerun": "the first attempt counts, unless the infrastructure failed it",
}


class Population(StrEnum):
    """What tasks a claim is about."""

    THESE = "these tasks"
    LIKE = "tasks like these"


@dataclass(frozen=True)
class Estimand:
    """What is estimated: the mean of a measure over tasks, of one agent or as the difference of two."""

    measure: Measure
    agents: tuple[str, ...]
    population: Population
    reason: str = ""
    """Why this measure, where it is not the one that was asked for."""


@dataclass(frozen=True)
class Evidence:
    """What a claim rests on."""

    tasks: int
    families: int
    trials: tuple[int, ...]
    """Trials of each agent that are in the estimate."""
    method: str
    comparisons: int = 1
    """How many comparisons the interval and the verdict allow for."""


@dataclass(frozen=True)
class Missing:
    """Trials without a result of their own, and how they are counted."""

    kind: MissingKind
    trials: int
    rule: str


@dataclass(frozen=True)
class Claim:
    """An estimate with all that is needed to read it; it cannot be made with an interval that contradicts it.

    `worst` and `best` are what the estimate would be if all missing trials had failed, or were perfect; for a
    difference, those of the first agent, and the other way round those of the second.
    """

    estimand: Estimand
    value: float
    interval: Interval
    evidence: Evidence
    worst: float
    best: float
    missing: tuple[Missing, ...] = ()
    conditions: tuple[str, ...] = ()
    p: float | None = None
    confidence: float = 0.95

    def __post_init__(self) -> None:
        low, high = self.interval.low, self.interval.high
        if self.interval.is_point or not low <= self.value <= high:
            raise ValueError(f"estimate {self.value} with interval {low} to {high}")
        if self.p is not None and (self.p <= 1 - self.confidence) == (low <= 0 <= high):
            raise ValueError(f"p = {self.p} with the {self.confidence:.1%} interval {low} to {high}")

    @property
    def is_complete(self) -> bool:
        """Whether no missing trial could change the estimate."""
        return self.worst == self.value == self.best


@dataclass(frozen=True)
class Verdict:
    """How the first agent compares with the second: the claim, the outcome, and what would settle an open question."""

    claim: Claim
    outcome: Outcome
    margin: float = MARGIN
    settled_by: str = ""
    registration: Registration = "exploratory"


@dataclass(frozen=True)
class Means:
    """The mean of one agent, for both populations."""

    these: Claim
    like: Claim


@dataclass(frozen=True)
class Answers:
    """How two agents compare, for both populations."""

    these: Verdict
    like: Verdict


@dataclass(frozen=True)
class Outcomes:
    """The values of one agent by task, as the estimate counts them and in the worst and the best case."""

    agent: str
    measure: Measure
    values: Sample
    worst: Sample
    best: Sample
    missing: Mapping[MissingKind, int]

    def on(self, tasks: Collection[str], possible: Collection[str] = ()) -> "Outcomes":
        """Return the values on some of the tasks; in the worst and the best case also on those with no result yet."""
        values = {task: known for task, known in self.values.items() if task in tasks}
        worst, best = (
            {task: sample[task] for task in sample if task in tasks or task in possible}
            for sample in (self.worst, self.best)
        )
        return replace(self, values=values, worst=worst, best=best)


def collect_outcomes(rows: Sequence[TrialRow], measure: Measure, rivals: Sequence[TrialRow] = ()) -> Outcomes:
    """Return the values of an agent from all its trials, finished or not.

    Tasks that do not define the measure or do not apply are excluded, those without a finished trial from the values.

    Args:
        rows: The trials of the agent.
        measure: What is measured.
        rivals: The trials of all compared agents, which `wins` needs.
    """
    values, worst, best = dict[str, list[float]](), dict[str, list[float]](), dict[str, list[float]]()
    missing = Counter[MissingKind]({"rerun": sum(row.repeated for row in rows)})
    for trials in group_by((row for row in rows if row.counts), lambda row: row.task):
        applicable = [row for row in trials if not row.inapplicable]
        missing["inapplicable"] += len(trials) - len(applicable)
        ended = [row for row in applicable if not row.pending]
        known = measure_task(ended, measure, [row for row in rivals if row.task == trials[0].task])
        pending = len(applicable) - len(ended)
        if not known and (ended or not pending):
            continue
        failed = sum(row.failure == "infrastructure" for row in ended)
        missing.update({"pending": pending, "infrastructure": failed})
        task = trials[0].task
        if known:
            values[task] = known
        worst[task] = known + [0.0] * pending
        kept = [value for row, value in zip(ended, known, strict=True) if row.failure != "infrastructure"]
        best[task] = kept + [1.0] * (pending + failed)
    return Outcomes(rows[0].agent, measure, values, worst, best, {kind: n for kind, n in missing.items() if n})


def outcomes_of_arm(agent: str, measure: Measure, values: Mapping[tuple[str, int], float]) -> Outcomes:
    """Return the values of an arm of an experiment, from values by task and seed."""
    sample: dict[str, list[float]] = {}
    for (task, _), value in values.items():
        sample.setdefault(task, []).append(value)
    return Outcomes(agent, measure, sample, sample, sample, {})


def claim_means(
    outcomes: Outcomes,
    *,
    families: Families | None = None,
    conditions: Sequence[str] = (),
    reason: str = "",
    confidence: float = 0.95,
) -> Means:
    """Return what is known of the mean of an agent over its tasks."""
    bounds = fmean(map(fmean, outcomes.worst.values())), fmean(map(fmean, outcomes.best.values()))

    def claim(population: Population, inferred: Inference, method: str) -> Claim:
        return Claim(
            estimand=Estimand(outcomes.measure, (outcomes.agent,), population, reason),
            value=inferred.value,
            interval=inferred.interval,
            evidence=_evidence((outcomes,), families, method),
            worst=bounds[0],
            best=bounds[1],
            missing=_list_missing(outcomes),
            conditions=tuple(conditions),
            confidence=confidence,
        )

    like = inference.infer_mean(outcomes.values, families=families, confidence=confidence)
    these = inference.infer_mean_here(outcomes.values, confidence)
    return Means(
        claim(Population.THESE, these, "Wilson's interval over trials"),
        claim(Population.LIKE, like, "random weights of tasks with a further task at the limit"),
    )


def compare_outcomes(
    first: Outcomes,
    second: Outcomes,
    *,
    families: Families | None = None,
    margin: float = MARGIN,
    conditions: Sequence[str] = (),
    reason: str = "",
    allowance: tuple[int, int] = (1, 1),
    registration: Registration = "exploratory",
) -> Answers:
    """Return how two agents compare on the tasks of both, allowing for so many comparisons in each population.

    A verdict holds only if it holds in the worst and in the best case of the missing trials.
    """
    cases = [(first.values, second.values), (first.worst, second.best), (first.best, second.worst)]
    cases = cases if first.worst != first.best or second.worst != second.best else cases[:1]
    differences = [fmean(first.values[task]) - fmean(second.values[task]) for task in first.values]

    def answer(population: Population, inferred: Sequence[Inference], method: str, comparisons: int) -> Verdict:
        estimate, bounds = inferred[0], [case.value for case in inferred]
        claim = Claim(
            estimand=Estimand(first.measure, (first.agent, second.agent), population, reason),
            value=estimate.value,
            interval=estimate.interval,
            evidence=_evidence((first, second), families, method, comparisons),
            worst=min(bounds),
            best=max(bounds),
            missing=_list_missing(first, second),
            conditions=tuple(conditions),
            p=estimate.p,
            confidence=1 - ALPHA / comparisons,
        )
        outcomes = {_judge(case.interval, margin) for case in inferred}
        if len(outcomes) > 1:
            return Verdict(claim, "not known", margin, "the missing trials decide", registration)
        outcome = outcomes.pop()
        settled_by = _find_what_settles(claim, differences, margin) if outcome == "not known" else ""
        return Verdict(claim, outcome, margin, settled_by, registration)

    levels = [1 - ALPHA / comparisons for comparisons in allowance]
    these = [inference.infer_difference_here(a, b, levels[0]) for a, b in cases]
    like = [inference.infer_difference(a, b, families=families, confidence=levels[1]) for a, b in cases]
    return Answers(
        answer(Population.THESE, these, "permutation of trials within tasks", allowance[0]),
        answer(Population.LIKE, like, "sign-flip test over tasks, with a further task on the other side", allowance[1]),
    )


def _judge(interval: Interval, margin: float) -> Outcome:
    if interval.low > 0:
        return "better"
    if interval.high < 0:
        return "worse"
    return "equivalent" if -margin <= interval.low and interval.high <= margin else "not known"


def _find_what_settles(claim: Claim, differences: Sequence[float], margin: float) -> str:
    """Return how much more of the same would settle an open question with a probability of 80%."""
    half = (claim.interval.high - claim.interval.low) / 2
    limit = NormalDist().inv_cdf((1 + claim.confidence) / 2)
    reach = half / limit * (limit + NormalDist().inv_cdf(0.8))
    target = max(abs(claim.value), abs(margin - abs(claim.value)) if abs(claim.value) < margin else 0.0)
    factor = (reach / target) ** 2 if target > 1e-9 else inf
    match claim.estimand.population:
        case Population.THESE:
            seeds = ceil(fmean(claim.evidence.trials) / claim.evidence.tasks * (factor - 1))
            return (
                f"about {plural(max(seeds, 1), 'more seed')}"
                if factor < _MAX_FACTOR
                else "no affordable number of seeds"
            )
        case Population.LIKE:
            if claim.evidence.families < inference.FEWEST_TASKS:
                return f"it takes at least {inference.FEWEST_TASKS} tasks"
            tasks = ceil(claim.evidence.tasks * (factor - 1))
            return (
                f"about {plural(max(tasks, 1), 'more task')}"
                if factor < _MAX_FACTOR
                else "no affordable number of tasks"
            )
        case _:
            assert_never(claim.estimand.population)


def _evidence(outcomes: Sequence[Outcomes], families: Families | None, method: str, comparisons: int = 1) -> Evidence:
    tasks = list(outcomes[0].values)
    siblings = {(families or {}).get(task, task) for task in tasks}
    trials = tuple(sum(map(len, each.values.values())) for each in outcomes)
    return Evidence(len(tasks), len(siblings), trials, method, comparisons)


def _list_missing(*outcomes: Outcomes) -> tuple[Missing, ...]:
    total = sum((Counter(each.missing) for each in outcomes), Counter[MissingKind]())
    return tuple(Missing(kind, trials, MISSING_RULES[kind]) for kind, trials in total.items())
