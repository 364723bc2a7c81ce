"""Paired comparisons on the frame: who is better on these tasks, what is known of tasks like these, and the ranks.

Only trials made under the same conditions are compared; `find_differences` names what differs otherwise.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import fmean

from assay.core.errors import UsageError
from assay.core.text import did_you_mean
from assay.core.values import Interval
from assay.results import inference
from assay.results.claims import (
    MARGIN,
    Answers,
    Means,
    Outcomes,
    Registration,
    claim_means,
    collect_outcomes,
    compare_outcomes,
    outcomes_of_arm,
)
from assay.results.frame import CONDITIONS, NAMED_CONDITIONS, Frame, TrialRow, condition_of, group_by
from assay.results.inference import Families
from assay.results.measures import RATES, Measure

PROFILE = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9)


@dataclass(frozen=True)
class AgentSummary:
    """One agent over the tasks that all compared agents have.

    `shrunken` is the mean without what the best of several agents owes to luck, `best` the probability that it is the
    best on tasks like these, and `ranks` are those that the comparisons leave open. The interquartile mean and the
    `profile`, the share of trials above each of some thresholds, are those of measures that are no rates.
    """

    agent: str
    means: Means
    error: float | None
    shrunken: float
    best: float
    ranks: tuple[int, int]
    iqm: float | None
    profile: Mapping[float, float]

    @property
    def mean(self) -> float:
        """The mean over tasks."""
        return self.means.like.value

    @property
    def interval(self) -> Interval:
        """The 95% interval over tasks like these."""
        return self.means.like.interval


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
    """Two agents, or two arms of an experiment, on the same tasks: the answers, and the differences by task.

    Of two arms, `pairs` counts the trials with the same task and seed, `unpaired` the excluded ones without a partner.
    """

    first: str
    second: str
    answers: Answers
    error: float | None
    probability_of_improvement: float
    tasks: tuple[TaskDifference, ...]
    pairs: int = 0
    unpaired: int = 0

    @property
    def difference(self) -> float:
        """How much higher the mean of the first is."""
        return self.answers.like.claim.value

    @property
    def interval(self) -> Interval:
        """The interval of the difference over tasks like these."""
        return self.answers.like.claim.interval

    @property
    def p(self) -> float:
        """The p-value of no difference over tasks like these."""
        return self.answers.like.claim.p or 0.0

    @property
    def p_adjusted(self) -> float:
        """The same, adjusted for the number of comparisons."""
        return min(1.0, self.p * self.answers.like.claim.evidence.comparisons)

    @property
    def first_mean(self) -> float:
        """The mean of the first over tasks."""
        return fmean(task.first for task in self.tasks)

    @property
    def second_mean(self) -> float:
        """The mean of the second over tasks."""
        return fmean(task.second for task in self.tasks)

    @property
    def significant(self) -> bool:
        """Whether one is better on tasks like these."""
        return self.answers.like.outcome in ("better", "worse")


@dataclass(frozen=True)
class Comparison:
    """Agents compared on the tasks they have in common, best first; `refused` says which pairs are not comparable."""

    suite: str
    measure: Measure
    tasks: tuple[str, ...]
    excluded: tuple[str, ...]
    agents: tuple[AgentSummary, ...]
    pairs: tuple[PairedDifference, ...]
    refused: tuple[str, ...] = ()


def select_trials(rows: Iterable[TrialRow]) -> Frame:
    """Return the trials that count; the same trial of an agent in two runs counts once."""
    known_tasks = rows.known_tasks if isinstance(rows, Frame) else None
    return Frame({(row.agent, row.trial): row for row in rows if row.parent is None}.values(), known_tasks)


def find_differences(rows: Sequence[TrialRow], conditions: Iterable[str] = CONDITIONS) -> list[str]:
    """Return a line for each condition under which trials of the same task differ between agents."""
    lines = []
    for condition in conditions:
        for trials in group_by(rows, lambda row: row.task):
            agents: dict[str, list[str]] = {}
            for row in trials:
                agents.setdefault(condition_of(row, condition), []).append(row.agent)
            known = {value: names for value, names in agents.items() if value != "unknown"}
            if len(known) > 1:
                named = "; ".join(f"{value}: {', '.join(dict.fromkeys(names))}" for value, names in known.items())
                lines.append(f"{condition} ({named}; on {trials[0].task})")
                break
    return lines


def compare_agents(
    rows: Sequence[TrialRow],
    *,
    agents: Sequence[str] = (),
    baseline: str | None = None,
    measure: Measure | None = None,
    families: Families | None = None,
    ignore: Iterable[str] = (),
    margin: float = MARGIN,
    registration: Registration = "exploratory",
    chosen_beforehand: bool = True,
) -> list[Comparison]:
    """Compare agents on each suite; with a `baseline` only against it, else each with each.

    Args:
        rows: Those of `select_trials`.
        agents: Only these.
        baseline: The agent that the others are compared with.
        measure: What is compared; by default success, and wins by score where success does not tell two agents apart.
        families: The family of each task that has siblings.
        ignore: Conditions in which trials may differ; the verdicts name them.
        margin: Agents that differ by less are equivalent.
        registration: Whether this comparison was planned.
        chosen_beforehand: Whether the baseline was chosen before the results were known; else each pair counts as one
            that could have been chosen.
    """
    known = list(dict.fromkeys(row.agent for row in rows if not row.pending and not row.inapplicable))
    for name in [*agents, *([baseline] if baseline else [])]:
        if name not in known:
            raise UsageError(f"no finished trial of agent {name!r}; {did_you_mean(name, known)}")
    compared = {*agents, *([baseline] if baseline else [])} if agents else set(known)
    if len(compared) < 2:
        raise UsageError(f"there is nothing to compare: only {', '.join(sorted(compared)) or 'no agent'} has trials")
    rules = _Rules(measure, baseline, families or {}, frozenset(ignore), margin, registration, chosen_beforehand)
    chosen = [row for row in rows if row.agent in compared]
    comparisons = [_compare(trials, rules) for trials in group_by(chosen, lambda row: row.suite)]
    if not any(comparison.pairs for comparison in comparisons):
        refused = [line for comparison in comparisons for line in comparison.refused]
        raise UsageError(
            "These trials are not comparable. " + "; ".join(refused)
            + ". Choose others with --agent, or pass --ignore CONDITION if the difference is what you study"
        )  # fmt: skip
    return comparisons


def compare_if_possible(rows: Frame) -> tuple[list[Comparison], str | None]:
    """Compare all agents; where they are not comparable, return the reason instead; neither with a single agent."""
    try:
        return compare_agents(select_trials(rows), families=rows.families), None
    except UsageError as error:
        return [], str(error) if len(rows.agents) > 1 else None


def compare_arms(
    first: Mapping[tuple[str, int], float],
    second: Mapping[tuple[str, int], float],
    names: tuple[str, str],
    *,
    measure: Measure = "success",
    margin: float = MARGIN,
    families: Families | None = None,
    comparisons: int = 1,
) -> PairedDifference:
    """Compare two arms of an experiment by the trials with the same task and seed; all values are between 0 and 1."""
    shared = [key for key in first if key in second]
    if not shared:
        raise UsageError(f"No trial with {names[0]} has a partner with {names[1]} of the same task and seed")
    own, other = (
        outcomes_of_arm(name, measure, {key: arm[key] for key in shared})
        for name, arm in zip(names, (first, second), strict=True)
    )
    answers = compare_outcomes(own, other, families=families, margin=margin, allowance=(comparisons, comparisons))
    return replace(_pair(own, other, answers), pairs=len(shared), unpaired=len(first) + len(second) - 2 * len(shared))


@dataclass(frozen=True)
class _Rules:
    measure: Measure | None
    baseline: str | None
    families: Families
    ignore: frozenset[str]
    margin: float
    registration: Registration
    chosen_beforehand: bool


def _compare(rows: Sequence[TrialRow], rules: _Rules) -> Comparison:
    measure: Measure = rules.measure or "success"
    by_agent = {trials[0].agent: trials for trials in group_by(rows, lambda row: row.agent)}
    collected = {agent: collect_outcomes(trials, measure, rows) for agent, trials in by_agent.items()}
    tasks = _common_tasks(collected.values())
    if not tasks and rules.measure is None:
        measure = "wins"
        collected = {agent: collect_outcomes(trials, measure, rows) for agent, trials in by_agent.items()}
        tasks = _common_tasks(collected.values())
    suite, every = rows[0].suite, list(dict.fromkeys(row.task for row in rows))
    if not tasks:
        hint = "try --measure wins, which every task has" if measure != "wins" else "they share no task"
        raise UsageError(f"the agents have no task of {suite} in common that defines {measure}; {hint}")
    possible = {task for task in every if all(task in outcomes.worst for outcomes in collected.values())}
    common = {agent: outcomes.on(tasks, possible) for agent, outcomes in collected.items()}
    order = sorted(common, key=lambda agent: (-inference.mean_over_tasks(common[agent].values), agent))
    others = [agent for agent in order if agent != rules.baseline]
    matchups = [(agent, rules.baseline) for agent in others] if rules.baseline else list(combinations(order, 2))
    trials_of = {pair: [row for agent in pair for row in by_agent[agent]] for pair in matchups}
    refused = {
        pair: lines
        for pair, trials in trials_of.items()
        if (lines := find_differences(trials, [name for name in CONDITIONS if name not in rules.ignore]))
    }
    matches = [
        _Match(by_agent[first], by_agent[second], common[first], common[second], rules)
        for first, second in matchups
        if (first, second) not in refused
    ]
    total = len(matches) if rules.chosen_beforehand else len(order) * (len(order) - 1) // 2
    pairs = _compare_matches(matches, max(total, 1))
    return Comparison(
        suite=suite,
        measure=measure,
        tasks=tuple(tasks),
        excluded=tuple(task for task in every if task not in tasks),
        agents=tuple(_summarize([common[agent] for agent in order], pairs, rules.families)),
        pairs=tuple(pairs),
        refused=tuple(
            f"{first} and {second} differ in {'; in '.join(lines)}" for (first, second), lines in refused.items()
        ),
    )


class _Match:
    """Two agents that are to be compared: by success, or by score where success does not tell them apart."""

    def __init__(
        self, own: Sequence[TrialRow], other: Sequence[TrialRow], first: Outcomes, second: Outcomes, rules: _Rules
    ) -> None:
        both = [*own, *other]
        self.first, self.second, self.rules, self.reason = first, second, rules, ""
        values = {value for outcomes in (first, second) for seeds in outcomes.values.values() for value in seeds}
        if rules.measure is None and first.measure == "success" and values in ({0.0}, {1.0}):
            by_score = [collect_outcomes(trials, "wins", both) for trials in (own, other)]
            if tasks := _common_tasks(by_score):
                self.first, self.second = (outcomes.on(tasks) for outcomes in by_score)
                self.reason = f"success does not tell them apart: both {100 * values.pop():.0f}%"
        elif rules.measure is None and first.measure == "wins":
            self.reason = "these tasks define no success"
        self.conditions = [
            *(
                f"ignored: {line}"
                for line in find_differences(both, [name for name in CONDITIONS if name in rules.ignore])
            ),
            *(f"different {line}" for line in find_differences(both, NAMED_CONDITIONS)),
        ]

    def compare(self, allowance: tuple[int, int]) -> PairedDifference:
        """Compare the two, allowing for so many comparisons on these tasks, and on tasks like these."""
        rules = self.rules
        answers = compare_outcomes(
            self.first, self.second, families=rules.families, margin=rules.margin, conditions=self.conditions,
            reason=self.reason, allowance=allowance, registration=rules.registration,
        )  # fmt: skip
        return _pair(self.first, self.second, answers)


def _compare_matches(matches: Sequence[_Match], total: int) -> list[PairedDifference]:
    """Compare all pairs; each allows for as many comparisons as Holm's method asks of it."""
    pairs = [match.compare((total, total)) for match in matches]
    these = inference.holm_allowances([pair.answers.these.claim.p or 0.0 for pair in pairs], total)
    like = inference.holm_allowances([pair.p for pair in pairs], total)
    return [
        pair if allowance == (total, total) else match.compare(allowance)
        for pair, match, allowance in zip(pairs, matches, zip(these, like, strict=True), strict=True)
    ]


def _pair(first: Outcomes, second: Outcomes, answers: Answers) -> PairedDifference:
    own, other = first.values, second.values
    tasks = [TaskDifference(task, fmean(own[task]), fmean(other[task])) for task in own]
    return PairedDifference(
        first=first.agent,
        second=second.agent,
        answers=answers,
        error=inference.task_error({task.task: [task.difference] for task in tasks}),
        probability_of_improvement=inference.probability_of_improvement(own, other),
        tasks=tuple(sorted(tasks, key=lambda task: -abs(task.difference))),
    )


def _common_tasks(collected: Iterable[Outcomes]) -> list[str]:
    first, *others = collected
    return [task for task in first.values if all(task in outcomes.values for outcomes in others)]


def _summarize(
    outcomes: Sequence[Outcomes], pairs: Sequence[PairedDifference], families: Families
) -> list[AgentSummary]:
    samples = [each.values for each in outcomes]
    shrunken, best = inference.shrink_means(samples), inference.probability_of_best(samples)
    rate = outcomes[0].measure in RATES
    return [
        AgentSummary(
            agent=each.agent,
            means=claim_means(each, families=families),
            error=inference.task_error(each.values),
            shrunken=shrunken[number],
            best=best[number],
            ranks=_open_ranks(each.agent, len(outcomes), pairs),
            iqm=None if rate else inference.sample_iqm(each.values),
            profile={}
            if rate
            else dict(zip(PROFILE, inference.performance_profile(each.values, PROFILE), strict=True)),
        )
        for number, each in enumerate(outcomes)
    ]


def _open_ranks(agent: str, agents: int, pairs: Sequence[PairedDifference]) -> tuple[int, int]:
    """Return the ranks that the verdicts on tasks like these leave to an agent."""
    outcomes = [pair.answers.like.outcome for pair in pairs if pair.first == agent]
    reversed_outcomes = [pair.answers.like.outcome for pair in pairs if pair.second == agent]
    ahead = outcomes.count("worse") + reversed_outcomes.count("better")
    behind = outcomes.count("better") + reversed_outcomes.count("worse")
    return 1 + ahead, agents - behind
