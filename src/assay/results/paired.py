"""Paired comparisons on the frame: differences by task with intervals, tests, ranks, and what could be detected.

Only trials made under the same conditions are compared; `find_differences` names what differs otherwise.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import fmean, stdev

from assay.core.errors import UsageError
from assay.core.text import did_you_mean
from assay.core.values import Interval
from assay.results import inference
from assay.results.frame import CONDITIONS, Frame, TrialRow, condition_of, group_by
from assay.results.inference import Sample
from assay.results.measures import RATES, Measure, sample_measure

SMALL_DIFFERENCE = 0.05
"""The difference for which `tasks_needed` is computed: five points of a rate."""
PROFILE = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9)
_Successes = Mapping[tuple[str, int], bool]
"""Whether the trials of an agent succeeded, by task and seed."""


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
class PairedDifference:
    """Two samples on the same tasks: the mean difference (first − second), and how sure it is.

    Of two arms, `pairs` counts the trials with the same task and seed, `unpaired` the excluded ones without a partner.
    """

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
    pairs: int = 0
    unpaired: int = 0

    @property
    def first_mean(self) -> float:
        """The mean of the first over tasks."""
        return fmean(task.first for task in self.tasks)

    @property
    def second_mean(self) -> float:
        """The mean of the second over tasks."""
        return fmean(task.second for task in self.tasks)

    @property
    def tasks_needed(self) -> int | None:
        """How many tasks are needed to detect a difference of five points; None where differences do not vary."""
        spread = stdev(task.difference for task in self.tasks) if len(self.tasks) > 1 else 0.0
        return inference.tasks_needed(SMALL_DIFFERENCE, spread) if spread else None

    @property
    def significant(self) -> bool:
        """Whether the difference is significant at 5%, adjusted for the number of comparisons."""
        return self.p_adjusted < 0.05


@dataclass(frozen=True)
class Comparison:
    """Agents compared on the tasks they have in common, best first."""

    suite: str
    measure: Measure
    tasks: tuple[str, ...]
    excluded: tuple[str, ...]
    agents: tuple[AgentSummary, ...]
    pairs: tuple[PairedDifference, ...]


def select_trials(rows: Iterable[TrialRow]) -> Frame:
    """Return the finished trials that apply to their task; the same trial of an agent in two runs counts once."""
    finished = (row for row in rows if row.counts and not row.pending and not row.inapplicable)
    known_tasks = rows.known_tasks if isinstance(rows, Frame) else None
    return Frame({(row.agent, row.trial): row for row in finished}.values(), known_tasks)


def find_differences(rows: Sequence[TrialRow], ignore: Iterable[str] = ()) -> list[str]:
    """Return a line for each condition under which trials of the same task differ, so that they are not comparable."""
    lines = []
    for condition in CONDITIONS:
        if condition in set(ignore):
            continue
        for trials in group_by(rows, lambda row: row.task):
            agents: dict[str, list[str]] = {}
            for row in trials:
                agents.setdefault(condition_of(row, condition), []).append(row.agent)
            if len(agents) > 1:
                named = "; ".join(f"{value}: {', '.join(dict.fromkeys(names))}" for value, names in agents.items())
                lines.append(f"{condition} ({named}; on {trials[0].task})")
                break
    return lines


def compare_agents(
    rows: Sequence[TrialRow],
    *,
    agents: Sequence[str] = (),
    baseline: str | None = None,
    measure: Measure = "success",
    strata: Mapping[str, str] | None = None,
    ignore: Iterable[str] = (),
) -> list[Comparison]:
    """Compare agents on each suite; with a `baseline` only against it, else each with each.

    `rows` are those of `select_trials`.
    """
    known = list(dict.fromkeys(row.agent for row in rows))
    for name in [*agents, *([baseline] if baseline else [])]:
        if name not in known:
            raise UsageError(f"no finished trial of agent {name!r}; {did_you_mean(name, known)}")
    compared = {*agents, *([baseline] if baseline else [])} if agents else set(known)
    chosen = [row for row in rows if row.agent in compared]
    if len(compared) < 2:
        raise UsageError(f"there is nothing to compare: only {', '.join(sorted(compared)) or 'no agent'} has trials")
    if differences := find_differences(chosen, ignore):
        raise UsageError(
            "These trials are not comparable. They differ in " + "; in ".join(differences)
            + ". Choose others with --agent, or pass --ignore CONDITION if the difference is what you study"
        )  # fmt: skip
    return [_compare(trials, measure, baseline, strata or {}) for trials in group_by(chosen, lambda row: row.suite)]


def try_comparing(rows: Sequence[TrialRow]) -> list[Comparison]:
    """Compare all agents by success, else by wins; nothing where there is only one, or they are not comparable."""
    selected = select_trials(rows)
    measures: tuple[Measure, ...] = ("success", "wins")
    for measure in measures:
        with suppress(UsageError):
            return compare_agents(selected, measure=measure, strata=selected.strata)
    return []


def compare_samples(
    first: str,
    second: str,
    samples: Mapping[str, Sample],
    interval: Interval,
    successes: Mapping[str, _Successes] | None = None,
) -> PairedDifference:
    """Return the paired difference of two samples on the tasks of the first, not adjusted for other comparisons."""
    own, other = samples[first], samples[second]
    tasks = [TaskDifference(task, fmean(own[task]), fmean(other[task])) for task in own]
    differences = [task.difference for task in tasks]
    test = inference.sign_flip_test(differences)
    spread = stdev(differences) if len(differences) > 1 else 0.0
    return PairedDifference(
        first=first,
        second=second,
        difference=fmean(differences),
        error=inference.task_error({task.task: [task.difference] for task in tasks}),
        interval=interval,
        p=test.p,
        p_adjusted=test.p,
        exact=test.exact,
        mcnemar=_mcnemar(successes[first], successes[second]) if successes else None,
        probability_of_improvement=inference.probability_of_improvement(own, other),
        detectable=inference.detectable_difference(spread, len(tasks)) if spread else None,
        tasks=tuple(sorted(tasks, key=lambda task: -abs(task.difference))),
    )


def compare_arms(
    first: Mapping[tuple[str, int], float],
    second: Mapping[tuple[str, int], float],
    names: tuple[str, str],
    *,
    rate: bool,
) -> PairedDifference:
    """Compare two arms of an experiment by the trials with the same task and seed; `rate` is whether all are 0 or 1."""
    shared = [key for key in first if key in second]
    if not shared:
        raise UsageError(f"No trial with {names[0]} has a partner with {names[1]} of the same task and seed")
    arms = dict(zip(names, (first, second), strict=True))
    samples: dict[str, dict[str, list[float]]] = {name: {} for name in names}
    for key in shared:
        for name, arm in arms.items():
            samples[name].setdefault(key[0], []).append(arm[key])
    pairs = {task: zip(values, samples[names[1]][task], strict=True) for task, values in samples[names[0]].items()}
    interval = inference.bootstrap_interval({task: [a - b for a, b in values] for task, values in pairs.items()})
    successes = {
        name: {key: bool(arm[key]) for key in shared} for name, arm in zip(names, (first, second), strict=True)
    }
    pair = compare_samples(*names, samples, interval, successes if rate else None)
    return replace(pair, pairs=len(shared), unpaired=len(first) + len(second) - 2 * len(shared))


def _compare(rows: Sequence[TrialRow], measure: Measure, baseline: str | None, strata: Mapping[str, str]) -> Comparison:
    by_agent = group_by(rows, lambda row: row.agent)
    samples = {trials[0].agent: sample_measure(trials, measure, rows) for trials in by_agent}
    every = list(dict.fromkeys(row.task for row in rows))
    tasks = [task for task in every if all(task in sample for sample in samples.values())]
    suite = rows[0].suite
    if not tasks:
        hint = "try --measure wins, which every task has" if measure != "wins" else "they share no task"
        raise UsageError(f"the agents have no task of {suite} in common that defines {measure}; {hint}")
    samples = {agent: {task: sample[task] for task in tasks} for agent, sample in samples.items()}
    summaries = sorted(_summarize(samples, tasks, measure, strata), key=lambda summary: -summary.mean)
    order = [summary.agent for summary in summaries]
    pairs = [(agent, baseline) for agent in order if agent != baseline] if baseline else [*combinations(order, 2)]
    indices = [(order.index(first), order.index(second)) for first, second in pairs]
    intervals = inference.difference_intervals([samples[agent] for agent in order], indices, strata=strata)
    successes = _successes_by_agent(by_agent) if measure == "success" else None
    compared = [
        compare_samples(first, second, samples, interval, successes)
        for (first, second), interval in zip(pairs, intervals, strict=True)
    ]
    adjusted = inference.holm([pair.p for pair in compared])
    return Comparison(
        suite=suite,
        measure=measure,
        tasks=tuple(tasks),
        excluded=tuple(task for task in every if task not in tasks),
        agents=tuple(summaries),
        pairs=tuple(replace(pair, p_adjusted=p) for pair, p in zip(compared, adjusted, strict=True)),
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


def _successes_by_agent(by_agent: Sequence[Sequence[TrialRow]]) -> dict[str, _Successes]:
    return {
        trials[0].agent: {(row.task, row.seed): row.success for row in trials if row.success is not None}
        for trials in by_agent
    }


def _mcnemar(first: _Successes, second: _Successes) -> float | None:
    """Return McNemar's p-value over trials of the same task and seed; None where no such pair exists."""
    pairs = [(success, second[trial]) for trial, success in first.items() if trial in second]
    if not pairs:
        return None
    return inference.mcnemar_test(pairs.count((True, False)), pairs.count((False, True)))
