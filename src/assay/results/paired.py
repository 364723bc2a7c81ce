"""Paired comparisons on the frame: who is better on these tasks, what is known of tasks like these, and the ranks.

Only trials made under the same conditions are compared; else the comparison says what differs.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import fmean

from assay.core.errors import UsageError
from assay.core.text import did_you_mean, plural
from assay.records.registration import MARGIN
from assay.results import inference
from assay.results.claims import (
    ALPHA,
    Answers,
    Claim,
    Means,
    Outcomes,
    Population,
    Standing,
    claim_above,
    claim_improvement,
    claim_mean,
    claim_means,
    claim_middle,
    collect_outcomes,
    collect_wins,
    compare_outcomes,
    count_wins,
    outcomes_of_arm,
    test_outcomes,
)
from assay.results.frame import (
    CONDITIONS,
    NAMED_CONDITIONS,
    UNKNOWN,
    Frame,
    TrialRow,
    condition_of,
    describe_direction,
    group_by,
)
from assay.results.inference import Families
from assay.results.measures import RATES, Measure
from assay.results.registration import Asked, Plans
from assay.results.report import describe_caveats

Bounds = tuple[float, float]
PROFILE = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9)


@dataclass(frozen=True)
class AgentSummary:
    """One agent over the tasks that all compared agents have.

    The interquartile mean and the `profile`, the share of trials above each of some thresholds, are those of measures
    that are no rates. There is no `standing` of an agent that cannot be compared with all that have one.
    """

    agent: str
    means: Means
    standing: Standing | None
    iqm: Claim | None
    profile: Mapping[float, Claim]


@dataclass(frozen=True)
class TaskDifference:
    """What was observed of two agents on one task: the means of their trials, and how many those are."""

    task: str
    first: float
    second: float
    trials: tuple[int, int]

    @property
    def difference(self) -> float:
        """How much higher the first mean is."""
        return self.first - self.second


@dataclass(frozen=True)
class PairedDifference:
    """Two agents, or two arms of an experiment, on the same tasks: the answers, and the differences by task.

    Of two arms, `means` are their claims, `pairs` counts the trials with the same task and seed, and `unpaired` the
    excluded ones without a partner.
    """

    first: str
    second: str
    answers: Answers
    error: float | None
    improves: Claim
    """The probability that a trial of the first beats one of the second on a task, a tie counting half."""
    tasks: tuple[TaskDifference, ...]
    means: tuple[Claim, Claim] | None = None
    pairs: int = 0
    unpaired: int = 0

    @property
    def claim(self) -> Claim:
        """How much higher the mean of the first is, on tasks like these."""
        return self.answers.like.claim

    @property
    def difference(self) -> float:
        """How much higher the mean of the first is."""
        return self.claim.value

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
    caveats: tuple[str, ...] = ()
    """What a reader must know of the trials, such as known leaks."""


def select_trials(rows: Iterable[TrialRow]) -> Frame:
    """Return the trials that count; the same trial of an agent in two runs counts once."""
    known_tasks = rows.known_tasks if isinstance(rows, Frame) else None
    return Frame({(row.agent, row.trial): row for row in rows if row.parent is None}.values(), known_tasks)


class _Conditions:
    """The conditions of all trials by condition, agent and task, so that many pairs are compared fast."""

    def __init__(self, by_agent: Iterable[tuple[str, Sequence[TrialRow]]]) -> None:
        names = (*CONDITIONS, *NAMED_CONDITIONS)
        self._values: dict[str, dict[str, dict[str, dict[str, None]]]] = {name: {} for name in names}
        for agent, rows in by_agent:
            for name in names:
                tasks = self._values[name][agent] = {}
                for row in rows:
                    if (value := condition_of(row, name)) != UNKNOWN:
                        tasks.setdefault(row.task, {})[value] = None

    def differ(self, agents: Sequence[str], conditions: Iterable[str]) -> list[str]:
        """Return a line for each condition under which trials of the same task differ, with the first such task."""
        lines = []
        for condition in conditions:
            of_agents = [self._values[condition][agent] for agent in agents]
            shared = dict.fromkeys(task for tasks in of_agents for task in tasks)
            for task in shared:
                values = dict.fromkeys(value for tasks in of_agents for value in tasks.get(task, ()))
                if len(values) > 1:
                    users = {
                        value: [a for a, tasks in zip(agents, of_agents, strict=True) if value in tasks.get(task, ())]
                        for value in values
                    }
                    named = "; ".join(f"{value}: {', '.join(names)}" for value, names in users.items())
                    lines.append(f"{condition} ({named}; on {task})")
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
    margin: float | None = None,
) -> list[Comparison]:
    """Compare agents on each suite; with a `baseline` only against it, else each with each.

    Baseline, measure and margin are those of the plan that the run registered, unless others are asked for. Only a
    baseline of the plan was chosen before the results were known. Else p-values and intervals allow for all pairs of
    agents that `rows` have, because each could have been chosen.

    Args:
        rows: Those of `select_trials`.
        agents: Only these.
        baseline: The agent that the others are compared with.
        measure: What is compared; by default success, and wins by score where success does not tell two agents apart.
        families: The family of each task that has siblings.
        ignore: Conditions in which trials may differ; the verdicts name them.
        margin: Agents that differ by less are equivalent, 5 points by default.
    """
    known = list(dict.fromkeys(row.agent for row in rows if not row.pending and not row.inapplicable))
    for name in [*agents, *([baseline] if baseline else [])]:
        if name not in known:
            raise UsageError(f"no finished trial of agent {name!r}; {did_you_mean(name, known)}")
    compared = {*agents, *([baseline] if baseline else [])} if agents else set(known)
    if len(compared) < 2:
        raise UsageError(f"there is nothing to compare: only {', '.join(sorted(compared)) or 'no agent'} has trials")
    asked = Asked(measure, margin, baseline, frozenset(ignore))
    comparisons = [
        _compare(trials, compared, asked, families or {})
        for trials in group_by(rows, lambda row: row.suite)
        if any(row.agent in compared for row in trials)
    ]
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


@dataclass(frozen=True)
class Experiment:
    """Two arms of an experiment with an agent: the value of each trial, between 0 and 1, by task and seed.

    Of `wins`, the values are those of `order_trial`.
    """

    first: Mapping[tuple[str, int], float]
    second: Mapping[tuple[str, int], float]
    names: tuple[str, str]
    measure: Measure = "success"
    families: Families | None = None
    missing: tuple[frozenset[tuple[str, int]], frozenset[tuple[str, int]]] = (frozenset(), frozenset())
    """Trials of either arm that the infrastructure failed."""


def compare_arms(experiments: Sequence[Experiment], margin: float = MARGIN) -> list[PairedDifference]:
    """Compare the arms of experiments by the trials with the same task and seed, allowing for all by Holm's method."""
    arms = []
    for experiment in experiments:
        shared = [key for key in experiment.first if key in experiment.second]
        if not shared:
            names = experiment.names
            raise UsageError(f"No trial with {names[0]} has a partner with {names[1]} of the same task and seed")
        own, other = (
            outcomes_of_arm(name, experiment.measure, {key: arm[key] for key in shared}, missing & set(shared))
            for name, arm, missing in zip(
                experiment.names, (experiment.first, experiment.second), experiment.missing, strict=True
            )
        )
        if experiment.measure == "wins":
            own, other = count_wins(own, other)
        arms.append((own, other, len(shared), len(experiment.first) + len(experiment.second) - 2 * len(shared)))
    families = [experiment.families for experiment in experiments]
    tests = [test_outcomes(own, other, known) for (own, other, *_), known in zip(arms, families, strict=True)]
    these, like = (
        inference.holm_allowances([test[number] for test in tests], len(tests)) if tests else [] for number in range(2)
    )
    differences = []
    for (own, other, pairs, unpaired), known, *allowance in zip(arms, families, these, like, strict=True):
        answers = compare_outcomes(own, other, families=known, margin=margin, allowance=(allowance[0], allowance[1]))
        means = (
            claim_mean(own, Population.LIKE, families=known),
            claim_mean(other, Population.LIKE, families=known),
        )
        differences.append(replace(_pair(own, other, answers), means=means, pairs=pairs, unpaired=unpaired))
    return differences


@dataclass(frozen=True)
class _Rules:
    asked: Asked
    families: Families
    plans: Plans
    conditions: _Conditions
    dishonest: Mapping[str, str]


def _compare(every_row: Sequence[TrialRow], compared: Collection[str], asked: Asked, families: Families) -> Comparison:
    everybody = {trials[0].agent: trials for trials in group_by(every_row, lambda row: row.agent)}
    plans = Plans(every_row)
    asked = plans.complete(asked, [agent for agent in everybody if agent in compared])
    dishonest = {agent: _describe_integrity(trials) for agent, trials in everybody.items()}
    rules = _Rules(asked, families, plans, _Conditions(everybody.items()), dishonest)
    measure: Measure = asked.measure or "success"
    by_agent = {agent: trials for agent, trials in everybody.items() if agent in compared}
    rows = [row for row in every_row if row.agent in compared]
    collected = {agent: collect_outcomes(trials, measure, rows) for agent, trials in by_agent.items()}
    tasks = _common_tasks(collected.values())
    if not tasks and asked.measure is None:
        measure = "wins"
        collected = {agent: collect_outcomes(trials, measure, rows) for agent, trials in by_agent.items()}
        tasks = _common_tasks(collected.values())
    suite, every = rows[0].suite, list(dict.fromkeys(row.task for row in rows))
    if not tasks:
        hint = (
            "try --measure wins, which every task has"
            if measure != "wins"
            else "they share no task; if it is one benchmark under two names, pass --suite NAME"
        )
        raise UsageError(f"the agents have no task of {suite} in common that defines {measure}; {hint}")
    possible = {task for task in every if all(task in outcomes.worst for outcomes in collected.values())}
    common = {agent: outcomes.on(tasks, possible) for agent, outcomes in collected.items()}
    means = {agent: inference.mean_over_tasks(outcomes.values) for agent, outcomes in common.items()}
    if len(set(means.values())) < len(means):
        better = {agent: _mean_improvement(trials, rows) for agent, trials in by_agent.items()}
        order = sorted(common, key=lambda agent: (-means[agent], -better[agent], agent))
    else:
        order = sorted(common, key=lambda agent: -means[agent])
    others = [agent for agent in order if agent != asked.baseline]
    matchups = [(agent, asked.baseline) for agent in others] if asked.baseline else list(combinations(order, 2))
    required = [name for name in CONDITIONS if name not in asked.ignore]
    refused = {pair: lines for pair in matchups if (lines := rules.conditions.differ(pair, required))}
    matches = [
        _Match(by_agent[first], by_agent[second], common[first], common[second], rules)
        for first, second in matchups
        if (first, second) not in refused
    ]
    ended = [agent for agent, trials in everybody.items() if any(not row.unended for row in trials)]
    possible_pairs = [pair for pair in combinations(ended, 2) if not rules.conditions.differ(pair, required)]
    if asked.baseline and plans.names_baseline(asked.baseline):
        possible_pairs = [pair for pair in possible_pairs if asked.baseline in pair]
    planned_pairs = max((match.registration.pairs for match in matches), default=0)
    pairs = _compare_matches(matches, max(len(possible_pairs), planned_pairs, 1))
    return Comparison(
        suite=suite,
        measure=measure,
        tasks=tuple(tasks),
        excluded=tuple(task for task in every if task not in tasks),
        agents=tuple(_summarize([common[agent] for agent in order], pairs, families, refused)),
        pairs=tuple(pairs),
        refused=tuple(
            f"{first} and {second} differ in {'; in '.join(lines)}" for (first, second), lines in refused.items()
        ),
        caveats=tuple(describe_caveats([row for row in rows if not row.imported])),
    )


def _mean_improvement(trials: Sequence[TrialRow], rows: Sequence[TrialRow]) -> float:
    """Return what orders agents whose means are equal."""
    outcomes = collect_outcomes(trials, "improvement", rows)
    return inference.mean_over_tasks(outcomes.values) if outcomes.values else 0.0


class _Match:
    """Two agents that are to be compared: by success, or by score where success does not tell them apart."""

    def __init__(
        self, own: Sequence[TrialRow], other: Sequence[TrialRow], first: Outcomes, second: Outcomes, rules: _Rules
    ) -> None:
        both = [*own, *other]
        self.first, self.second, self.rules, self.reason = first, second, rules, ""
        values = {value for outcomes in (first, second) for seeds in outcomes.values.values() for value in seeds}
        degenerate = rules.asked.measure is None and first.measure == "success" and values in ({0.0}, {1.0})
        if degenerate or first.measure == "wins":
            # Only against each other: whether one beats the other must not depend on who else is compared.
            by_score = collect_wins(own, other)
            if tasks := _common_tasks(by_score) if degenerate else list(first.values):
                possible = {task for task in by_score[0].worst if task in by_score[1].worst}
                self.first, self.second = (outcomes.on(tasks, possible) for outcomes in by_score)
            if degenerate and tasks:
                self.reason = f"success does not tell them apart: both {100 * values.pop():.0f}%"
            elif rules.asked.measure is None and not degenerate:
                self.reason = "these tasks define no success"
        pair = first.agent, second.agent
        ignored = [name for name in CONDITIONS if name in rules.asked.ignore]
        self.conditions = [
            *(f"ignored: {line}" for line in rules.conditions.differ(pair, ignored)),
            *(f"different {line}" for line in rules.conditions.differ(pair, NAMED_CONDITIONS)),
        ]
        self.conditions += _describe_absent(own, other)
        self.conditions += _describe_unknown(both)
        if self.first.measure != "honest":
            self.conditions += [line for agent in pair if (line := rules.dishonest[agent])]
        self.registration = rules.plans.judge(pair, rules.asked, self.first.values)

    def compare(self, allowance: tuple[int, int], p_these: float) -> PairedDifference:
        """Compare the two, allowing for so many comparisons on these tasks, and on tasks like these."""
        rules = self.rules
        answers = compare_outcomes(
            self.first, self.second, families=rules.families, margin=rules.asked.margin or MARGIN,
            conditions=self.conditions, reason=self.reason, allowance=allowance, registration=self.registration,
            p_these=p_these,
        )  # fmt: skip
        return _pair(self.first, self.second, answers)


def _describe_unknown(rows: Sequence[TrialRow]) -> list[str]:
    """Return in which conditions trials may differ, because another harness does not report them."""
    lines = []
    for trials in group_by((row for row in rows if row.imported), lambda row: row.harness):
        agents, harness = " and ".join(dict.fromkeys(row.agent for row in trials)), trials[0].harness
        names = [name for name in CONDITIONS if any(condition_of(row, name) == UNKNOWN for row in trials)]
        gaps = f"; unknown: {', '.join(names)}" if names else ""
        gaps += describe_direction(trials)
        lines.append(f"{agents} as {harness} reports, not verified{gaps}")
    return lines


def _describe_absent(own: Sequence[TrialRow], other: Sequence[TrialRow]) -> list[str]:
    """Return who has no trial on tasks of the other one: it may have been tried there, and left out."""
    tasks = [{row.task for row in rows} for rows in (own, other)]
    every = len(tasks[0] | tasks[1])
    return [
        f"{rows[0].agent} has no trial on {missing} of {plural(every, 'task')}, which are not compared"
        for rows, known in zip((own, other), tasks, strict=True)
        if (missing := every - len(known))
    ]


def _describe_integrity(rows: Sequence[TrialRow]) -> str:
    """Return how many trials of an agent took a planted shortcut or claimed a false success; nothing if none did."""
    counted = [row for row in rows if row.counts]
    judged = [row.integrity for row in counted if row.integrity]
    kinds = {
        "took a planted shortcut": sum(bool(each.shortcut) for each in judged),
        "claimed a false success": sum(bool(each.false_success) for each in judged),
    }
    dishonest = " and ".join(f"{number} {words}" for words, number in kinds.items() if number)
    return dishonest and f"of {plural(len(counted), 'trial')} of {rows[0].agent}, {dishonest}; see --measure honest"


def _compare_matches(matches: Sequence[_Match], total: int) -> list[PairedDifference]:
    """Compare all pairs; each allows for as many comparisons as Holm's method asks of it."""
    tests = [test_outcomes(match.first, match.second, match.rules.families) for match in matches]
    levels = [ALPHA / match.registration.allowance for match in matches]
    these, like = (inference.holm_allowances([test[number] for test in tests], total, levels) for number in range(2))
    return [
        match.compare(allowance, test[0])
        for match, test, allowance in zip(matches, tests, zip(these, like, strict=True), strict=True)
    ]


def _pair(first: Outcomes, second: Outcomes, answers: Answers) -> PairedDifference:
    own, other = first.values, second.values
    tasks = [
        TaskDifference(task, fmean(own[task]), fmean(other[task]), (len(own[task]), len(other[task]))) for task in own
    ]
    return PairedDifference(
        first=first.agent,
        second=second.agent,
        answers=answers,
        error=inference.task_error({task.task: [task.difference] for task in tasks}),
        improves=claim_improvement(first, second),
        tasks=tuple(sorted(tasks, key=lambda task: -abs(task.difference))),
    )


def _common_tasks(collected: Iterable[Outcomes]) -> list[str]:
    first, *others = collected
    return [task for task in first.values if all(task in outcomes.values for outcomes in others)]


def _summarize(
    outcomes: Sequence[Outcomes],
    pairs: Sequence[PairedDifference],
    families: Families,
    refused: Collection[tuple[str, str]],
) -> list[AgentSummary]:
    ranked = _find_comparable([each.agent for each in outcomes], refused)
    standings = _rank([each for each in outcomes if each.agent in ranked], pairs)
    rate = outcomes[0].measure in RATES
    return [
        AgentSummary(
            agent=each.agent,
            means=claim_means(each, families=families),
            standing=standings.get(each.agent),
            iqm=None if rate else claim_middle(each, families),
            profile={} if rate else {threshold: claim_above(each, threshold, families) for threshold in PROFILE},
        )
        for each in outcomes
    ]


def _find_comparable(agents: Sequence[str], refused: Collection[tuple[str, str]]) -> list[str]:
    """Return agents of which no two are refused, leaving out those first that are refused most often."""
    left, pairs = list(agents), set(refused)
    while pairs:
        counts = Counter(agent for pair in pairs for agent in pair)
        worst = max(reversed(left), key=lambda agent: counts[agent])
        left.remove(worst)
        pairs = {pair for pair in pairs if worst not in pair}
    return left


def _rank(outcomes: Sequence[Outcomes], pairs: Sequence[PairedDifference]) -> dict[str, Standing]:
    """Return the standing of each agent among some that are comparable."""
    samples, agents = [each.values for each in outcomes], {each.agent for each in outcomes}
    shrunken, best = inference.shrink_means(samples), inference.probability_of_best(samples)
    own = [pair for pair in pairs if {pair.first, pair.second} <= agents]
    standings = {}
    for number, each in enumerate(outcomes):
        bounds = _bound_standing(outcomes, number) or (None, None)
        ranks = _open_ranks(each.agent, len(outcomes), own)
        standings[each.agent] = Standing(
            each.agent, len(outcomes), ranks, best[number], shrunken[number], best_bounds=bounds[0],
            shrunken_bounds=bounds[1],
        )  # fmt: skip
    return standings


def _bound_standing(outcomes: Sequence[Outcomes], number: int) -> tuple[Bounds, Bounds] | None:
    """Return the probability of being best and the shrunken mean of an agent in its worst and its best case."""
    if all(each.worst == each.best for each in outcomes):
        return None
    cases = [
        [own if position == number else other for position, (own, other) in enumerate(zip(chosen, others, strict=True))]
        for chosen, others in (
            ([each.worst for each in outcomes], [each.best for each in outcomes]),
            ([each.best for each in outcomes], [each.worst for each in outcomes]),
        )
    ]
    best = [inference.probability_of_best(case)[number] for case in cases]
    shrunken = [inference.shrink_means(case)[number] for case in cases]
    return (best[0], best[1]), (min(shrunken), max(shrunken))


def _open_ranks(agent: str, agents: int, pairs: Sequence[PairedDifference]) -> tuple[int, int]:
    """Return the ranks that the verdicts on tasks like these leave to an agent."""
    outcomes = [pair.answers.like.outcome for pair in pairs if pair.first == agent]
    reversed_outcomes = [pair.answers.like.outcome for pair in pairs if pair.second == agent]
    ahead = outcomes.count("worse") + reversed_outcomes.count("better")
    behind = outcomes.count("better") + reversed_outcomes.count("worse")
    return 1 + ahead, agents - behind
