"""Claims: what is said of agents, each with its estimand, population, missing trials, conditions and evidence.

Every rate, difference, rank and verdict that Assay prints is a `Claim` or a `Verdict` of this module. Two questions are
always answered together: what holds on these tasks, whose trials are a sample of all trials that could be run on them,
and what holds on tasks like these, of which they are a sample.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, inf
from statistics import NormalDist, fmean
from typing import Literal, assert_never

from assay.core.claim import ALPHA as ALPHA
from assay.core.claim import Claim as Claim
from assay.core.claim import Estimand as Estimand
from assay.core.claim import Evidence as Evidence
from assay.core.claim import Missing as Missing
from assay.core.claim import MissingKind
from assay.core.claim import Population as Population
from assay.core.claim import Standing as Standing
from assay.core.text import plural
from assay.core.values import Interval
from assay.records.registration import MARGIN
from assay.results import inference
from assay.results.frame import TrialRow, group_by
from assay.results.inference import Families, Inference, Sample
from assay.results.measures import Measure, bound_trial, count_rivals, measure_task, order_trial
from assay.results.registration import UNREGISTERED, Registration

_MAX_FACTOR = 50

Ranks = tuple[Sample, Sample, Sample]
Outcome = Literal["better", "worse", "equivalent", "not known"]

MISSING_RULES: Mapping[MissingKind, str] = {
    "pending": "not in the estimate; as failures in the worst case, as perfect in the best",
    "infrastructure": "failures in the estimate and the worst case, perfect in the best",
    "inapplicable": "their tasks are compared for no agent",
    "unknown": "whether they took a shortcut does not show; they did in the worst case only",
    "rerun": "the first attempt counts, unless the infrastructure failed it",
}
_SIGN_FLIP = "sign-flip test over tasks, with a further task on the other side"
_METHODS: Mapping[Population, str] = {
    Population.THESE: "Wilson's interval over trials",
    Population.LIKE: "random weights of tasks with a further task at the limit",
}


@dataclass(frozen=True)
class Verdict:
    """How the first agent compares with the second: the claim, the outcome, and what would settle an open question."""

    claim: Claim
    outcome: Outcome
    margin: float = MARGIN
    settled_by: str = ""
    registration: Registration = UNREGISTERED


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
    measure: str
    values: Sample
    worst: Sample
    best: Sample
    missing: Mapping[MissingKind, int]
    ranks: Ranks | None = None
    """Of wins over one other agent, what a permutation of trials exchanges: for the values, worst and best case."""
    rivals: Mapping[str, int] = field(default_factory=dict)
    """Of wins, how many trials of others each trial was compared with, by task."""

    def map(self, measure: str, convert: Callable[[Sequence[float]], list[float]]) -> "Outcomes":
        """Return another measure of the same trials, which grows with the values of each task."""
        values, worst, best = (
            {task: convert(known) for task, known in sample.items()} for sample in (self.values, self.worst, self.best)
        )
        return replace(self, measure=measure, values=values, worst=worst, best=best)

    def on(self, tasks: Collection[str], possible: Collection[str] = ()) -> "Outcomes":
        """Return the values on some of the tasks; in the worst and the best case also on those with no result yet."""
        values = {task: known for task, known in self.values.items() if task in tasks}
        worst, best = (
            {task: sample[task] for task in sample if task in tasks or task in possible}
            for sample in (self.worst, self.best)
        )
        ranks: Ranks | None = None
        if self.ranks:
            known, low, high = self.ranks
            low, high = ({task: sample[task] for task in worst} for sample in (low, high))
            ranks = {task: known[task] for task in values}, low, high
        return replace(self, values=values, worst=worst, best=best, ranks=ranks)


def collect_outcomes(
    rows: Sequence[TrialRow],
    measure: Measure,
    rivals: Sequence[TrialRow] = (),
    value_of: Callable[[TrialRow], float | None] | None = None,
    limits: tuple[float, float] = (0.0, 1.0),
) -> Outcomes:
    """Return the values of an agent from all its trials, finished or not.

    Tasks that do not define the measure or do not apply are excluded, those without a finished trial from the values.

    Args:
        rows: The trials of the agent.
        measure: What is measured.
        rivals: The trials of all compared agents, which `wins` needs.
        value_of: The value of a finished trial, by another rule than that of the measure.
        limits: The lowest and the highest value, for trials without a result.
    """
    values, worst, best = dict[str, list[float]](), dict[str, list[float]](), dict[str, list[float]]()
    of_task = {trials[0].task: trials for trials in group_by(rivals, lambda row: row.task)} if measure == "wins" else {}
    lost = (row for row in rivals if row.pending or row.failure == "infrastructure")
    uncertain = {row.task for row in lost} if measure == "wins" else set()
    missing = Counter[MissingKind]({"rerun": sum(row.repeated for row in rows)})
    counted = sorted((row for row in rows if row.counts), key=lambda row: row.seed)
    for trials in group_by(counted, lambda row: row.task):
        applicable = [row for row in trials if not row.inapplicable]
        missing["inapplicable"] += len(trials) - len(applicable)
        ended = [row for row in applicable if not row.pending]
        if value_of is None:
            known = measure_task(ended, measure, of_task.get(trials[0].task, ()))
        else:
            values_known = [value for row in ended if (value := value_of(row)) is not None]
            known = values_known if len(values_known) == len(ended) else []
        task, pending = trials[0].task, len(applicable) - len(ended)
        awaits_rivals = ended and not known and any(row.pending for row in of_task.get(task, ()))
        if not known and not awaits_rivals and (ended or not pending):
            continue
        failed = sum(row.failure == "infrastructure" for row in ended)
        missing.update({"pending": pending, "infrastructure": failed})
        if known:
            values[task] = known
        bounds = [
            limits
            if awaits_rivals or row.failure == "infrastructure"
            else (value, value)
            if value_of or (measure == "wins" and task not in uncertain)
            else bound_trial(row, measure, value, of_task.get(task, ()))
            for row, value in zip(ended, known or [0.0] * len(ended), strict=True)
        ]
        if measure == "honest":
            missing["unknown"] += sum(low < high for low, high in bounds) - failed
        worst[task] = [low for low, _ in bounds] + [limits[0]] * pending
        best[task] = [high for _, high in bounds] + [limits[1]] * pending
    rivals_of = {task: count_rivals(rows[0], of_task[task]) for task in values if task in of_task}
    kinds = {kind: number for kind, number in missing.items() if number}
    return Outcomes(rows[0].agent, measure, values, worst, best, kinds, rivals=rivals_of)


def collect_wins(first: Sequence[TrialRow], second: Sequence[TrialRow]) -> tuple[Outcomes, Outcomes]:
    """Return how often trials of two agents beat those of the other one, in score, on the tasks of both."""
    own, other = (collect_outcomes(rows, "wins", value_of=order_trial, limits=(-inf, inf)) for rows in (first, second))
    return count_wins(own, other)


def count_wins(first: Outcomes, second: Outcomes) -> tuple[Outcomes, Outcomes]:
    """Return the shares of the other's trials that each trial beats, from values that say which one is better."""
    cases = [(first.values, second.values), (first.worst, second.best), (first.best, second.worst)]
    complete = all(each.values == each.worst == each.best for each in (first, second))
    shares, ranks = (
        [count(*case) for case in (cases[:1] if complete else cases)] * (3 if complete else 1)
        for count in (inference.shares_of_wins, inference.rank_trials)
    )

    def collect(outcomes: Outcomes, side: int, order: tuple[int, int, int]) -> Outcomes:
        values, worst, best = (shares[case][side] for case in order)
        known, low, high = (ranks[case][side] for case in order)
        return replace(outcomes, measure="wins", values=values, worst=worst, best=best, ranks=(known, low, high))

    return collect(first, 0, (0, 1, 2)), collect(second, 1, (0, 2, 1))


def outcomes_of_arm(
    agent: str, measure: str, values: Mapping[tuple[str, int], float], missing: Collection[tuple[str, int]] = ()
) -> Outcomes:
    """Return the values of an arm of an experiment by task and seed; the infrastructure failed the `missing` ones.

    Of `wins`, values only say which trial is better; see `count_wins`.
    """
    limits = (-inf, inf) if measure == "wins" else (0.0, 1.0)
    sample, worst, best = dict[str, list[float]](), dict[str, list[float]](), dict[str, list[float]]()
    for (task, seed), value in values.items():
        low, high = limits if (task, seed) in missing else (value, value)
        for each, known in ((sample, value), (worst, low), (best, high)):
            each.setdefault(task, []).append(known)
    return Outcomes(agent, measure, sample, worst, best, {"infrastructure": len(missing)} if missing else {})


def claim_mean(
    outcomes: Outcomes, population: Population, *, families: Families | None = None, confidence: float = 0.95
) -> Claim:
    """Return what is known of the mean of an agent over its tasks, in one population."""
    match population:
        case Population.THESE:
            inferred = inference.infer_mean_here(outcomes.values, confidence, outcomes.rivals)
        case Population.LIKE:
            inferred = inference.infer_mean(outcomes.values, families=families, confidence=confidence)
        case _:
            assert_never(population)
    return Claim(
        estimand=Estimand(outcomes.measure, (outcomes.agent,), population),
        value=inferred.value,
        interval=inferred.interval,
        evidence=replace(_evidence((outcomes,), families, _METHODS[population]), hits=_count_hits(outcomes.values)),
        worst=fmean(map(fmean, outcomes.worst.values())),
        best=fmean(map(fmean, outcomes.best.values())),
        missing=_list_missing(outcomes),
        confidence=confidence,
        errors={str(kind): error for kind, error in inference.standard_errors(outcomes.values).items()},
    )


def claim_means(outcomes: Outcomes, *, families: Families | None = None, confidence: float = 0.95) -> Means:
    """Return what is known of the mean of an agent over its tasks."""
    these, like = (claim_mean(outcomes, each, families=families, confidence=confidence) for each in Population)
    return Means(these, like)


def claim_sample(
    agent: str,
    measure: str,
    sample: Sample,
    *,
    population: Population = Population.LIKE,
    families: Families | None = None,
) -> Claim:
    """Return the mean of values by task, all between 0 and 1, of which none is missing."""
    return claim_mean(complete_outcomes(agent, measure, sample), population, families=families)


def complete_outcomes(agent: str, measure: str, sample: Sample) -> Outcomes:
    """Return values by task of which none is missing."""
    return Outcomes(agent, measure, sample, sample, sample, {})


def claim_above(outcomes: Outcomes, threshold: float, families: Families | None = None) -> Claim:
    """Return the share of trials whose value is above a threshold, as a mean over tasks."""
    above = outcomes.map(f"above {100 * threshold:g}%", lambda values: [float(value > threshold) for value in values])
    return claim_mean(above, Population.LIKE, families=families)


def claim_middle(outcomes: Outcomes, families: Families | None = None) -> Claim:
    """Return the interquartile mean over all trials, which a few extreme ones do not change."""
    inferred = inference.infer_middle(outcomes.values, families=families)
    mean = claim_mean(replace(outcomes, measure="interquartile mean"), Population.LIKE, families=families)
    bounds = [inference.sample_iqm(each) for each in (outcomes.worst, outcomes.best)]
    return replace(mean, value=inferred.value, interval=inferred.interval, worst=bounds[0], best=bounds[1], errors={})


def claim_improvement(first: Outcomes, second: Outcomes) -> Claim:
    """Return the mean over tasks of the probability that a trial of the first beats one of the second, ties half."""
    cases = [(first.values, second.values), (first.worst, second.best), (first.best, second.worst)]
    value, worst, best = (
        inference.improvement_by_task(own, other, shares=first.measure == "wins") for own, other in cases
    )
    missing = dict(Counter(first.missing) + Counter(second.missing))
    return replace(
        claim_mean(Outcomes(first.agent, "probability of improvement", value, worst, best, missing), Population.LIKE),
        estimand=Estimand("probability of improvement", (first.agent, second.agent), Population.LIKE),
    )


def claim_attempts(outcomes: Outcomes, families: Families | None = None) -> tuple[dict[int, Claim], dict[int, Claim]]:
    """Return pass@k and pass^k: the probabilities that one, and that all, of k attempts at a task succeed.

    They are means over tasks, for every k up to the attempts at the task that has fewest.
    """
    attempts = range(1, min(map(len, outcomes.values.values()), default=0) + 1)

    def claim(name: str, probability: Callable[[int, int, int], float], k: int) -> Claim:
        def convert(values: Sequence[float]) -> list[float]:
            # Trials of a task without any result yet may be fewer than k: all have failed, or all are perfect.
            return [probability(len(values), round(sum(values)), min(k, len(values)))]

        return claim_mean(outcomes.map(f"{name}{k}", convert), Population.LIKE, families=families)

    return (
        {k: claim("pass@", inference.pass_at_k, k) for k in attempts},
        {k: claim("pass^", inference.pass_all_k, k) for k in attempts},
    )


def claim_difference(agents: tuple[str, str], measure: str, first: Sample, second: Sample) -> Claim:
    """Return the difference of two means over tasks like these, of values of which none is missing."""
    inferred = inference.infer_difference(first, second)
    trials = tuple(sum(map(len, sample.values())) for sample in (first, second))
    claim = claim_change(agents, measure, inferred, len(first), _SIGN_FLIP)
    means = inference.mean_over_tasks(first), inference.mean_over_tasks(second)
    return replace(claim, evidence=replace(claim.evidence, trials=trials), parts=means)


def claim_change(
    agents: tuple[str, ...],
    measure: str,
    inferred: Inference,
    tasks: int,
    method: str,
    *,
    comparisons: int = 1,
    confidence: float = 0.95,
) -> Claim:
    """Return a difference that a study inferred by a method of its own, such as a slope, allowing for comparisons."""
    return Claim(
        estimand=Estimand(measure, agents, Population.LIKE, kind="difference"),
        value=inferred.value,
        interval=inferred.interval,
        evidence=Evidence(tasks, tasks, (tasks,), method, comparisons),
        worst=inferred.value,
        best=inferred.value,
        p=inferred.p,
        confidence=confidence,
    )


def _count_hits(sample: Sample) -> int | None:
    values = [value for seeds in sample.values() for value in seeds]
    return round(sum(values)) if all(value in (0, 1) for value in values) else None


def compare_outcomes(
    first: Outcomes,
    second: Outcomes,
    *,
    families: Families | None = None,
    margin: float = MARGIN,
    conditions: Sequence[str] = (),
    reason: str = "",
    allowance: tuple[int, int] = (1, 1),
    registration: Registration = UNREGISTERED,
    p_these: float | None = None,
) -> Answers:
    """Return how two agents compare on the tasks of both, allowing for so many comparisons in each population.

    `p_these` is the p-value on these tasks, if it is known.
    A verdict holds only if it holds in the worst and in the best case of the missing trials.
    """
    cases = [(first.values, second.values), (first.worst, second.best), (first.best, second.worst)]
    means = inference.mean_over_tasks(first.values), inference.mean_over_tasks(second.values)
    cases = cases if first.worst != first.best or second.worst != second.best else cases[:1]

    def answer(population: Population, inferred: Sequence[Inference], method: str, comparisons: int) -> Verdict:
        estimate, bounds = inferred[0], [case.value for case in inferred]
        evidence = _evidence((first, second), families, method, comparisons, registration.allowance)
        claim = Claim(
            estimand=Estimand(first.measure, (first.agent, second.agent), population, reason, "difference"),
            value=estimate.value,
            interval=estimate.interval,
            evidence=evidence,
            worst=min(bounds),
            best=max(bounds),
            missing=_list_missing(first, second),
            conditions=tuple(conditions),
            p=estimate.p,
            confidence=1 - evidence.level,
            parts=means,
        )
        outcomes = {_judge(case.interval, margin) for case in inferred}
        if len(outcomes) > 1:
            return Verdict(claim, "not known", margin, "the missing trials decide", registration)
        outcome = outcomes.pop()
        following = registration.next_allowance / registration.allowance
        settled_by = _find_what_settles(claim, margin, following) if outcome == "not known" else ""
        return Verdict(claim, outcome, margin, settled_by, registration)

    levels = [1 - ALPHA / (comparisons * registration.allowance) for comparisons in allowance]
    known = [p_these, None, None][: len(cases)]
    ranks = _pair_ranks(first, second)[: len(cases)]
    these = [
        inference.infer_difference_here(a, b, levels[0], p, ranked)
        for (a, b), p, ranked in zip(cases, known, ranks, strict=True)
    ]
    like = [inference.infer_difference(a, b, families=families, confidence=levels[1]) for a, b in cases]
    return Answers(
        answer(Population.THESE, these, "permutation of trials within tasks", allowance[0]),
        answer(Population.LIKE, like, _SIGN_FLIP, allowance[1]),
    )


def test_outcomes(first: Outcomes, second: Outcomes, families: Families | None = None) -> tuple[float, float]:
    """Return the p-values of no difference that `compare_outcomes` has, on these tasks and on tasks like these."""
    return (
        inference.test_difference_here(first.values, second.values, _pair_ranks(first, second)[0]),
        inference.test_difference(first.values, second.values, families),
    )


def _pair_ranks(first: Outcomes, second: Outcomes) -> list[tuple[Sample, Sample] | None]:
    """Return what permutations exchange instead of the values: as estimated, and with either agent at its worst."""
    if first.ranks is None or second.ranks is None:
        return [None] * 3
    own, other = first.ranks, second.ranks
    return [(own[0], other[0]), (own[1], other[2]), (own[2], other[1])]


def _judge(interval: Interval, margin: float) -> Outcome:
    if interval.low > 0:
        return "better"
    if interval.high < 0:
        return "worse"
    return "equivalent" if -margin <= interval.low and interval.high <= margin else "not known"


def _find_what_settles(claim: Claim, margin: float, following: float) -> str:
    """Return how much more of the same would settle an open question with a probability of 80%.

    That is a further look, whose level is `following` times lower.
    """
    half = (claim.interval.high - claim.interval.low) / 2
    limits = [NormalDist().inv_cdf(1 - claim.evidence.level / 2 / factor) for factor in (1, max(following, 1))]
    reach = half / limits[0] * (limits[1] + NormalDist().inv_cdf(0.8))
    target = max(abs(claim.value), abs(margin - abs(claim.value)) if abs(claim.value) < margin else 0.0)
    factor = (reach / target) ** 2 if target > 1e-9 else inf
    match claim.estimand.population:
        case Population.THESE:
            if factor >= _MAX_FACTOR:
                return "more seeds would hardly settle it"
            seeds = fmean(claim.evidence.trials) / claim.evidence.tasks
            fewest = inference.fewest_seeds(claim.evidence.tasks, claim.evidence.level / max(following, 1))
            return f"about {plural(max(ceil(max(seeds * factor, fewest) - seeds), 1), 'more seed')}"
        case Population.LIKE:
            fewest = inference.fewest_tasks(claim.evidence.level)
            if claim.evidence.families < fewest:
                return f"it takes at least {fewest} tasks"
            if factor >= _MAX_FACTOR:
                return "more tasks would hardly settle it"
            return f"about {plural(max(ceil(claim.evidence.tasks * (factor - 1)), 1), 'more task')}"
        case _:
            assert_never(claim.estimand.population)


def _evidence(
    outcomes: Sequence[Outcomes], families: Families | None, method: str, comparisons: int = 1, looks: int = 1
) -> Evidence:
    tasks = list(outcomes[0].values)
    siblings = {(families or {}).get(task, task) for task in tasks}
    trials = tuple(sum(map(len, each.values.values())) for each in outcomes)
    return Evidence(len(tasks), len(siblings), trials, method, comparisons, looks)


def _list_missing(*outcomes: Outcomes) -> tuple[Missing, ...]:
    total = sum((Counter(each.missing) for each in outcomes), Counter[MissingKind]())
    return tuple(Missing(kind, trials, MISSING_RULES[kind]) for kind, trials in total.items())
