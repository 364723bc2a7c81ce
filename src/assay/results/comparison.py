"""Compare agents: paired differences by task with intervals, tests, ranks, and what the comparison could have found.

Only trials made under the same conditions are compared; `find_differences` names what differs otherwise.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean, stdev
from typing import Literal, get_args

from assay.core.errors import UsageError
from assay.core.quantities import format_duration, format_size
from assay.core.text import did_you_mean, plural
from assay.records import RunFolder, TrialFile, TrialSummary
from assay.results import inference
from assay.results.collect import collect_summaries
from assay.results.inference import Interval, Sample
from assay.results.outcome import Outcome
from assay.results.statistics import group_by

Measure = Literal["success", "valid", "percentile", "normalized", "improvement", "wins"]
MEASURES = get_args(Measure)
RATES: tuple[Measure, ...] = ("success", "valid")
"""The measures of which each trial is 0 or 1."""
PROFILE = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9)
_Successes = Mapping[tuple[str, int], bool]
"""Whether the trials of an agent succeeded, by task and seed."""
CONDITIONS = ("edition", "variant", "budget", "hardware", "network", "description", "sealing")


@dataclass(frozen=True)
class ComparedTrial:
    """A finished trial with the conditions it ran under, by the names in `CONDITIONS`."""

    outcome: Outcome
    conditions: Mapping[str, str]


@dataclass(frozen=True)
class AgentSummary:
    """One agent over the tasks that all compared agents have.

    `iqm` is the interquartile mean over all trials, `profile` the share of trials above each of some thresholds.
    """

    agent: str
    mean: float
    error: float | None
    interval: Interval
    iqm: float
    profile: Mapping[float, float]
    strength: float
    strength_interval: Interval


@dataclass(frozen=True)
class TaskDifference:
    """The means of two agents on one task."""

    task: str
    first: float
    second: float

    @property
    def difference(self) -> float:
        """How much higher the first mean is."""
        return self.first - self.second


@dataclass(frozen=True)
class PairComparison:
    """Two agents on the same tasks: the mean difference (first − second), and how sure it is."""

    first: str
    second: str
    difference: float
    error: float | None
    interval: Interval
    p: float
    p_adjusted: float
    exact: bool
    mcnemar: float | None
    probability_of_improvement: float
    detectable: float | None
    tasks: tuple[TaskDifference, ...]

    @property
    def is_shown(self) -> bool:
        """Whether the difference is significant at 5 %, adjusted for the number of comparisons."""
        return self.p_adjusted < 0.05


@dataclass(frozen=True)
class Comparison:
    """Agents compared on the tasks they have in common, best first."""

    suite: str
    measure: Measure
    tasks: tuple[str, ...]
    left_out: tuple[str, ...]
    agents: tuple[AgentSummary, ...]
    pairs: tuple[PairComparison, ...]


def collect_trials(runs: Iterable[RunFolder]) -> list[ComparedTrial]:
    """Return the finished trials of several runs that apply to their task; the same trial in two runs counts once."""
    return select_trials(one for run in runs for one in collect_summaries(run))


def select_trials(trials: Iterable[tuple[TrialSummary, Outcome]]) -> list[ComparedTrial]:
    """Return the finished trials that apply to their task; the same trial of an agent in two runs counts once."""
    found: dict[tuple[str, str], ComparedTrial] = {}
    known: dict[tuple[str, bool], Mapping[str, str]] = {}
    for trial, outcome in trials:
        if outcome.counts and not outcome.pending and not outcome.inapplicable:
            key = (trial.plan, outcome.unsealed)
            if key not in known:
                known[key] = describe_conditions(trial.file, outcome)
            found[outcome.agent, trial.folder.path.name] = ComparedTrial(outcome, known[key])
    return list(found.values())


def find_differences(trials: Sequence[ComparedTrial], ignore: Iterable[str] = ()) -> list[str]:
    """Return a line for each condition under which trials of the same task differ, so that they are not comparable."""
    lines = []
    for condition in CONDITIONS:
        if condition in set(ignore):
            continue
        for same in group_by(trials, lambda one: one.outcome.task):
            agents: dict[str, list[str]] = {}
            for one in same:
                agents.setdefault(one.conditions[condition], []).append(one.outcome.agent)
            if len(agents) > 1:
                named = "; ".join(f"{value}: {', '.join(dict.fromkeys(names))}" for value, names in agents.items())
                lines.append(f"{condition} ({named}; on {same[0].outcome.task})")
                break
    return lines


def compare_agents(
    trials: Sequence[ComparedTrial],
    *,
    agents: Sequence[str] = (),
    baseline: str | None = None,
    measure: Measure = "success",
    strata: Mapping[str, str] | None = None,
    ignore: Iterable[str] = (),
) -> list[Comparison]:
    """Compare agents on each suite; with a `baseline` only against it, else each with each."""
    known = list(dict.fromkeys(one.outcome.agent for one in trials))
    for name in [*agents, *([baseline] if baseline else [])]:
        if name not in known:
            raise UsageError(f"no finished trial of agent {name!r}; {did_you_mean(name, known)}")
    wanted = {*agents, *([baseline] if baseline else [])} if agents else set(known)
    chosen = [one for one in trials if one.outcome.agent in wanted]
    if len(wanted) < 2:
        raise UsageError(f"there is nothing to compare: only {', '.join(sorted(wanted)) or 'no agent'} has trials")
    if differences := find_differences(chosen, ignore):
        raise UsageError(
            "These trials are not comparable. They differ in " + "; in ".join(differences)
            + ". Choose others with --agent, or pass --ignore CONDITION if the difference is what you study"
        )  # fmt: skip
    by_suite = group_by(chosen, lambda one: one.outcome.rules.suite)
    return [_compare([one.outcome for one in same], measure, baseline, strata or {}) for same in by_suite]


def try_comparing(trials: Sequence[tuple[TrialSummary, Outcome]]) -> list[Comparison]:
    """Compare all agents by success, else by wins; nothing where there is only one, or they are not comparable."""
    selected = select_trials(trials)
    strata = {outcome.task: outcome.split for _, outcome in trials}
    measures: tuple[Measure, ...] = ("success", "wins")
    for measure in measures:
        with suppress(UsageError):
            return compare_agents(selected, measure=measure, strata=strata)
    return []


def _compare(
    outcomes: Sequence[Outcome], measure: Measure, baseline: str | None, strata: Mapping[str, str]
) -> Comparison:
    by_agent = group_by(outcomes, lambda one: one.agent)
    samples = {same[0].agent: _sample(same, measure, outcomes) for same in by_agent}
    every = list(dict.fromkeys(outcome.task for outcome in outcomes))
    tasks = [task for task in every if all(task in sample for sample in samples.values())]
    suite = outcomes[0].rules.suite
    if not tasks:
        hint = "try --measure wins, which every task has" if measure != "wins" else "they share no task"
        raise UsageError(f"the agents have no task of {suite} in common that defines {measure}; {hint}")
    samples = {agent: {task: sample[task] for task in tasks} for agent, sample in samples.items()}
    summaries = sorted(_summarize(samples, tasks, measure, strata), key=lambda one: -one.mean)
    order = [one.agent for one in summaries]
    pairs = [(agent, baseline) for agent in order if agent != baseline] if baseline else [*combinations(order, 2)]
    places = [(order.index(first), order.index(second)) for first, second in pairs]
    intervals = inference.difference_intervals([samples[agent] for agent in order], places, strata=strata)
    successes = _successes_by_agent(outcomes) if measure == "success" else None
    compared = [
        _pair(samples, first, second, interval, successes)
        for (first, second), interval in zip(pairs, intervals, strict=True)
    ]
    adjusted = inference.holm([one.p for one in compared])
    return Comparison(
        suite=suite,
        measure=measure,
        tasks=tuple(tasks),
        left_out=tuple(task for task in every if task not in tasks),
        agents=tuple(summaries),
        pairs=tuple(PairComparison(**vars(one) | {"p_adjusted": p}) for one, p in zip(compared, adjusted, strict=True)),
    )


def _summarize(
    samples: Mapping[str, Sample], tasks: Sequence[str], measure: Measure, strata: Mapping[str, str]
) -> list[AgentSummary]:
    every = list(samples.values())
    interval_of = inference.rate_interval if measure in RATES else inference.bootstrap_interval
    strengths = inference.bradley_terry(inference.count_wins(every, tasks))
    intervals = inference.bradley_terry_intervals(every, tasks)
    return [
        AgentSummary(
            agent=agent,
            mean=inference.mean_over_tasks(sample),
            error=inference.task_error(sample),
            interval=interval_of(sample, strata=strata),
            iqm=inference.sample_iqm(sample),
            profile=dict(zip(PROFILE, inference.performance_profile(sample, PROFILE), strict=True)),
            strength=float(strength),
            strength_interval=interval,
        )
        for (agent, sample), strength, interval in zip(samples.items(), strengths, intervals, strict=True)
    ]


def _pair(
    samples: Mapping[str, Sample],
    first: str,
    second: str,
    interval: Interval,
    successes: Mapping[str, _Successes] | None,
) -> PairComparison:
    one, other = samples[first], samples[second]
    tasks = [TaskDifference(task, fmean(one[task]), fmean(other[task])) for task in one]
    differences = [task.difference for task in tasks]
    by_task = {task.task: [task.difference] for task in tasks}
    test = inference.sign_flip_test(differences)
    spread = stdev(differences) if len(differences) > 1 else 0.0
    return PairComparison(
        first=first,
        second=second,
        difference=fmean(differences),
        error=inference.task_error(by_task),
        interval=interval,
        p=test.p,
        p_adjusted=test.p,
        exact=test.exact,
        mcnemar=_mcnemar(successes[first], successes[second]) if successes else None,
        probability_of_improvement=inference.probability_of_improvement(one, other),
        detectable=inference.detectable_difference(spread, len(tasks)) if spread else None,
        tasks=tuple(sorted(tasks, key=lambda task: -abs(task.difference))),
    )


def _sample(outcomes: Sequence[Outcome], measure: Measure, every: Sequence[Outcome]) -> Sample:
    """Return the values by task; a failed trial counts as 0. Tasks that do not define the measure are left out."""
    sample: dict[str, list[float]] = {}
    for same in group_by(outcomes, lambda one: one.task):
        if measure == "wins":
            rivals = [one for one in every if one.task == same[0].task and one.agent != same[0].agent]
            values = [_wins(one, rivals) for one in same]
        else:
            values = [measure_outcome(one, measure) for one in same]
        if all(value is not None for value in values):
            sample[same[0].task] = [value for value in values if value is not None]
    return sample


def measure_outcome(outcome: Outcome, measure: Measure) -> float | None:
    """Return the value of one trial, 0 for a failed one; None where its task does not define the measure.

    `wins` is not defined for a trial alone.
    """
    if outcome.failure is not None:
        return 0.0
    if measure == "valid":
        return float(outcome.valid)
    if measure == "success":
        return None if outcome.success is None else float(outcome.success)
    if measure == "improvement":
        return outcome.improvement
    if measure == "normalized":
        return outcome.normalized
    if measure == "wins":
        return None
    return outcome.grade.percentile / 100 if outcome.grade and outcome.grade.percentile is not None else None


def _wins(outcome: Outcome, rivals: Sequence[Outcome]) -> float | None:
    """Return the share of the other agents' trials on the task that a trial beats; a tie is half a win."""
    if not rivals:
        return None
    sign = -1 if outcome.direction == "lower" else 1
    mine = -math.inf if outcome.score is None else sign * outcome.score
    theirs = [-math.inf if rival.score is None else sign * rival.score for rival in rivals]
    return fmean((mine > other) + 0.5 * (mine == other) for other in theirs)


def _successes_by_agent(outcomes: Sequence[Outcome]) -> dict[str, _Successes]:
    return {
        same[0].agent: {(one.task, one.seed): one.success for one in same if one.success is not None}
        for same in group_by(outcomes, lambda one: one.agent)
    }


def _mcnemar(first: _Successes, second: _Successes) -> float | None:
    """Return McNemar's p-value over trials of the same task and seed; None where no such pair exists."""
    pairs = [(won, second[trial]) for trial, won in first.items() if trial in second]
    if not pairs:
        return None
    return inference.mcnemar_test(pairs.count((True, False)), pairs.count((False, True)))


def describe_conditions(file: TrialFile, outcome: Outcome) -> dict[str, str]:
    """Return the conditions of a trial by the names in `CONDITIONS`."""
    budget, resources = file.budget, file.resources
    limits = [format_duration(budget.time), f"{budget.steps} steps"]
    limits += [f"{budget.tokens:,} tokens"] if budget.tokens else []
    limits += [f"${budget.cost:g}"] if budget.cost else []
    return {
        "edition": file.edition,
        "variant": file.variant,
        "budget": ", ".join(limits),
        "hardware": ", ".join(
            (plural(resources.cores, "core"), format_size(resources.memory), plural(resources.gpus, "GPU"))
        ),
        "network": file.network,
        "description": file.describe,
        "sealing": "unsealed" if outcome.unsealed else "sealed",
    }
