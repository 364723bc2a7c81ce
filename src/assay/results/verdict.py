"""A comparison in words and tables: who is better on these tasks, what is known beyond them, by how much, and why."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from assay.core.claim import format_limits, format_rate
from assay.core.table import Column, Table, Value
from assay.core.text import plural
from assay.core.values import format_p, format_percent, format_points
from assay.results import claims
from assay.results.claims import Claim, Outcome
from assay.results.frame import Frame, TrialRow
from assay.results.measures import MEASURE_TITLES
from assay.results.paired import (
    PROFILE,
    AgentSummary,
    Comparison,
    PairedDifference,
    TaskDifference,
    compare_if_possible,
)
from assay.results.report import describe_failures, short_task_name

_MAX_NAMED = 3
_MAX_TASKS = 5
_REVERSED: Mapping[Outcome, Outcome] = {"better": "worse", "worse": "better"}
_METHOD = (
    "On these tasks: p by permutation of trials within tasks. On tasks like these: sign-flip test over tasks (over "
    "families of tasks where there are any), with a further task on the other side, inverted for the interval.",
    "Rate: mean over tasks. Shrunken: without what the best of several owes to luck. Best: probability of the highest "
    "rate on tasks like these. Ranks: those that the comparisons leave open.",
)
_STANDING = (
    "Possible ranks: those that the comparisons of all pairs leave open. Best with probability: of the highest rate on "
    "tasks like these. Without luck: the rate drawn towards the mean, because the best of several owes some to luck."
)


@dataclass(frozen=True)
class Verdict:
    """Two agents, the one that is ahead first, and what is said of them.

    `amount` is by how much they differ and how sure that is, `tasks` where they do, `registration` whether that was
    planned, `caveats` what conditions it, and `shortfall` what happened where the second did not succeed, if its trials
    are known; so many were `failures`.
    """

    first: str
    second: str
    headline: str
    significant: bool
    amount: str
    tasks: str
    registration: str
    caveats: tuple[str, ...]
    shortfall: str | None
    failures: int


def make_verdict(comparison: Comparison, pair: PairedDifference, rows: Sequence[TrialRow] = ()) -> Verdict:
    """Return the verdict on a pair; `rows` are the trials that were compared, and may have others among them."""
    sign, compared = -1 if pair.difference < 0 else 1, {task.task for task in pair.tasks}
    first, second = (pair.first, pair.second) if sign > 0 else (pair.second, pair.first)
    own = [row for row in rows if row.agent == second and row.task in compared and row.counts and not row.pending]
    failures = Counter(name for row in own if (name := row.failure_name) is not None)
    return Verdict(
        first=first,
        second=second,
        headline=_describe_answers(pair, first, second, sign),
        significant=pair.answers.these.outcome in ("better", "worse"),
        amount=_describe_amount(pair, sign),
        tasks=_describe_tasks(comparison, pair, sign, {row.task: row.title for row in rows}),
        registration=pair.answers.like.registration.describe(),
        caveats=tuple(_describe_caveats(pair, sign)),
        shortfall=_describe_shortfall(second, own, failures) if pair.difference else None,
        failures=failures.total(),
    )


def _describe_answers(pair: PairedDifference, first: str, second: str, sign: int) -> str:
    """Return both answers in a sentence: for these tasks, and for tasks like these."""
    these, like = pair.answers.these, pair.answers.like
    estimand, number = these.claim.estimand, these.claim.evidence.tasks
    here = "this task" if number == 1 else f"these {number} tasks"
    measure = "" if estimand.measure == "success" and not estimand.reason else f" by {_name_measure(these.claim)}"
    outcomes = [
        answer.outcome if sign > 0 else _REVERSED.get(answer.outcome, answer.outcome) for answer in (these, like)
    ]
    near, far = (_relate(outcome, first, second, these.margin) for outcome in outcomes)
    if outcomes[0] == outcomes[1]:
        if outcomes[0] != "not known":
            return f"{near}{measure} on {here} and on tasks like these."
        return f"{near}{measure} on {here} ({these.settled_by}), nor on tasks like these ({like.settled_by})."
    if outcomes[1] == "not known":
        return f"{near}{measure} on {here}; on tasks like these that is not known: {like.settled_by}."
    if outcomes[0] == "not known":
        return f"{far}{measure} on tasks like these; on {here} that is not known: {these.settled_by}."
    return f"{near}{measure} on {here}; on tasks like these {far}."


def _relate(outcome: Outcome, first: str, second: str, margin: float) -> str:
    match outcome:
        case "better":
            return f"{first} is better than {second}"
        case "worse":
            return f"{second} is better than {first}"
        case "equivalent":
            return f"{first} and {second} are equivalent within {100 * margin:g} points"
        case "not known":
            return f"It is not known which is better, {first} or {second},"
        case _:
            assert_never(outcome)


def _name_measure(claim: Claim) -> str:
    name = claim.estimand.measure
    if name in ("honest", "valid"):
        name = MEASURE_TITLES[name]
    name = "score, paired by task" if name == "wins" else name
    return f"{name} ({claim.estimand.reason})" if claim.estimand.reason else name


def _describe_amount(pair: PairedDifference, sign: int) -> str:
    these, like = (
        answer.claim if sign > 0 else answer.claim.reversed() for answer in (pair.answers.these, pair.answers.like)
    )
    first, second = these.parts or (0.0, 0.0)
    measure = MEASURE_TITLES.get(these.estimand.measure, these.estimand.measure)
    measure = f"on the {measure}" if "scale" in measure else measure
    counts = [answer.claim.evidence.comparisons for answer in (pair.answers.these, pair.answers.like)]
    allowing = f", allowing for {max(counts)} comparisons" if max(counts) > 1 else ""
    return (
        f"{format_percent(first)} against {format_percent(second)} {measure}, "
        f"{format_points(these.value)} points: {_describe_interval(these)} on these tasks, "
        f"{_describe_interval(like)} on tasks like these ({pair.answers.like.registration}{allowing})."
    )


def _describe_interval(claim: Claim) -> str:
    p = format_p(claim.p_adjusted or 0.0)
    equals = "" if p.startswith("<") else "= "
    return f"{format_limits(claim)} (p {equals}{p})"


def _describe_caveats(pair: PairedDifference, sign: int) -> list[str]:
    """Return what conditions a verdict: missing trials with their bounds, and conditions that differ."""
    claim = pair.answers.these.claim
    lines = []
    if claim.missing:
        trials = ", ".join(f"{missing.trials} {missing.kind} ({missing.rule})" for missing in claim.missing)
        low, high = sorted((sign * claim.worst, sign * claim.best))
        bounds = "" if claim.is_complete else f" They allow {format_points(low)} to {format_points(high)} points."
        lines.append(f"Missing trials: {trials}.{bounds}")
    return [*lines, *(f"Conditions: {condition}." for condition in claim.conditions)]


def _describe_tasks(comparison: Comparison, pair: PairedDifference, sign: int, titles: Mapping[str, str]) -> str:
    signs: dict[int, list[str]] = {1: [], -1: [], 0: []}
    for task in pair.tasks:  # the largest differences come first
        signs[_sign(task) * sign].append(titles.get(task.task, short_task_name(task.task)))
    excluded = [titles.get(task, short_task_name(task)) for task in comparison.excluded]
    kinds = (("better on", signs[1]), ("worse on", signs[-1]), ("the same on", signs[0]), ("not compared on", excluded))
    text = "; ".join(f"{words} {_name(tasks)}" for words, tasks in kinds if tasks)
    return f"{text[:1].upper()}{text[1:]}."


def _sign(task: TaskDifference) -> int:
    return (task.difference > 0) - (task.difference < 0)


def _name(tasks: Sequence[str]) -> str:
    if len(tasks) <= _MAX_NAMED:
        return f"{', '.join(tasks[:-1])} and {tasks[-1]}" if len(tasks) > 1 else tasks[0]
    return f"{len(tasks)} tasks (largest: {', '.join(tasks[:2])})"


def _describe_shortfall(agent: str, own: Sequence[TrialRow], failures: Counter[str]) -> str | None:
    weak = [row for row in own if row.valid and row.success is False]
    lost = len(weak) + failures.total()
    if not lost:
        return None
    missed = "not clearly better than the starter code (by more than 10% and beyond noise)"
    if any(row.has_leaderboard for row in weak):
        missed = "without a medal"
    reasons = [f"{len(weak)} valid but {missed}"] if weak else []
    reasons += [describe_failures(dict(failures.most_common()))] if failures else []
    return f"{agent} did not succeed in {lost} of {plural(len(own), 'trial')}: {', '.join(reasons)}."


def summarize_verdicts(rows: Frame, max_work: int = 1_000_000) -> list[str]:
    """Return who of the two best agents is better, by how much and under what conditions, for each suite.

    The work is the number of pairs of agents times the number of trials.
    """
    agents = len(rows.agents)
    if agents < 2:
        return []
    if agents * (agents - 1) // 2 * len(rows) > max_work:
        return [f"Not compared here, because {agents} agents have many pairs: assay compare."]
    comparisons, refusal = compare_if_possible(rows)
    if refusal and not comparisons:
        return [f"Not compared: {refusal}"]
    lines = []
    for comparison in comparisons:
        for verdict in (make_verdict(comparison, pair) for pair in comparison.pairs[:1]):
            lines += [verdict.headline, *(f"  {line}" for line in (verdict.amount, *verdict.caveats))]
        lines += [f"Not compared: {line}." for line in comparison.refused]
    return lines


def comparison_tables(comparison: Comparison) -> list[Table]:
    """Return the agents with their means, the shares of trials above thresholds, and the differences by pair."""
    tables = [_agents_table(comparison)]
    if any(summary.profile for summary in comparison.agents):
        tables.append(_profile_table(comparison))
    return [*tables, _pairs_table(comparison)]


def describe_pair(comparison: Comparison, pair: PairedDifference) -> list[str]:
    """Return the verdict on a pair and what it rests on, a sentence a line."""
    verdict = make_verdict(comparison, pair)
    lines = [
        verdict.headline,
        verdict.amount,
        verdict.registration,
        *verdict.caveats,
        f"a trial of {pair.first} beats one of {pair.second} with probability {format_rate(pair.improves)}",
    ]
    differing = [task for task in pair.tasks if task.difference]
    lines += [
        f"  {format_points(task.difference, 1):>6}  {short_task_name(task.task)}: {describe_task(task)}"
        for task in differing[:_MAX_TASKS]
    ]
    if more := len(differing[_MAX_TASKS:]):
        lines.append(f"          and {plural(more, 'task')} more")
    return lines


def describe_task(task: TaskDifference) -> str:
    """Return what was observed on a task, such as `3 of 3 against 1 of 3`; of other measures than rates, the means."""
    hits = [mean * trials for mean, trials in zip((task.first, task.second), task.trials, strict=True)]
    if all(abs(number - round(number)) < 1e-9 for number in hits):
        words = [f"{round(number)} of {trials}" for number, trials in zip(hits, task.trials, strict=True)]
    else:
        words = [
            f"{format_percent(mean, 1)} in {plural(trials, 'trial')}"
            for mean, trials in zip((task.first, task.second), task.trials, strict=True)
        ]
    return " against ".join(words)


def standing_table(comparison: Comparison) -> Table:
    """Return the agents with their rates, the ranks that are left open, and how likely each is the best."""
    columns = (
        Column("agent"),
        Column("rate", "rate (95% on tasks like these)", kind="rate"),
        Column("rank", "possible ranks", kind="rank"),
        Column("best", "best with probability", kind="best"),
        Column("shrunken", "without luck", kind="shrunken"),
    )
    rows = [
        (summary.agent, summary.means.like, summary.standing, summary.standing, summary.standing)
        for summary in comparison.agents
    ]
    title = f"{MEASURE_TITLES[comparison.measure]} on the {plural(len(comparison.tasks), 'task')} of all agents"
    return Table("standings", columns, tuple(rows), title, (_STANDING,))


def _agents_table(comparison: Comparison) -> Table:
    several = len(comparison.agents) > 2
    columns = (
        Column("agent"),
        Column("mean", "rate (95% on tasks like these)", kind="rate"),
        Column("these", "95% on these tasks", kind="limits"),
        Column("error", kind="number", data_only=True),
        Column("iqm", "IQM (95%)", kind="rate", decimals=1, data_only=comparison.agents[0].iqm is None),
        Column("shrunken", kind="shrunken", data_only=not several),
        Column("best", kind="best", data_only=not several),
        Column("ranks", kind="rank", data_only=not several),
    )
    rows = [_agent_record(summary) for summary in comparison.agents]
    measure, tasks = MEASURE_TITLES[comparison.measure], plural(len(comparison.tasks), "task")
    title = f"{comparison.suite}: {measure} on {tasks}, failures included"
    return Table.from_records("agents", columns, rows, title=title)


def _agent_record(summary: AgentSummary) -> dict[str, Value]:
    like, standing = summary.means.like, summary.standing
    return {
        "agent": summary.agent,
        "mean": like,
        "these": summary.means.these,
        "error": like.errors.get("tasks"),
        "iqm": summary.iqm,
        "shrunken": standing,
        "best": standing,
        "ranks": standing,
    }


def _profile_table(comparison: Comparison) -> Table:
    columns = [Column("agent", "share of trials above")]
    columns += [Column(f"above_{100 * t:.0f}", format_percent(t), kind="rate") for t in PROFILE]
    rows: list[tuple[Value, ...]] = [(summary.agent, *summary.profile.values()) for summary in comparison.agents]
    return Table("profile", tuple(columns), tuple(rows))


def _pairs_table(comparison: Comparison) -> Table:
    columns = (
        Column("first"),
        Column("second"),
        Column("measure", data_only=True),
        Column("difference", "points on these tasks", kind="difference", decimals=1),
        Column("p_these", "p", kind="p"),
        Column("outcome_these", data_only=True),
        Column("like", "on tasks like these", kind="limits", decimals=1),
        Column("p_like", "p", kind="p"),
        Column("outcome_like", data_only=True),
        Column("error", kind="number", data_only=True),
        Column("improves", kind="rate", data_only=True),
        Column("verdict", kind="prose"),
    )
    rows = [_pair_record(comparison, pair) for pair in comparison.pairs]
    notes = [*_describe_pairs(comparison), *describe_method(comparison)]
    return Table.from_records("pairs", columns, rows, notes=tuple(notes))


def _describe_pairs(comparison: Comparison) -> Iterator[str]:
    """Yield, for each registration and each caveat, of which pairs it is true."""
    said: dict[str, list[str]] = {}
    for pair in comparison.pairs:
        verdict = make_verdict(comparison, pair)
        for line in (verdict.registration, *verdict.caveats):
            said.setdefault(line, []).append(f"{pair.first} and {pair.second}")
    for line, names in said.items():
        more = f" and {len(names) - _MAX_NAMED} more pairs" if len(names) > _MAX_NAMED else ""
        yield line if len(names) == len(comparison.pairs) else f"{'; '.join(names[:_MAX_NAMED])}{more}: {line}"


def _pair_record(comparison: Comparison, pair: PairedDifference) -> dict[str, Value]:
    these, like = pair.answers.these, pair.answers.like
    return {
        "first": pair.first,
        "second": pair.second,
        "measure": these.claim.estimand.measure,
        "difference": these.claim,
        "p_these": these.claim,
        "outcome_these": these.outcome,
        "like": like.claim,
        "p_like": like.claim,
        "outcome_like": like.outcome,
        "error": pair.error,
        "improves": pair.improves,
        "verdict": make_verdict(comparison, pair).headline,
    }


def count_comparisons(comparison: Comparison) -> int:
    """Return for how many comparisons p-values and intervals allow."""
    answers = (answer for pair in comparison.pairs for answer in (pair.answers.these, pair.answers.like))
    return max((answer.claim.evidence.comparisons for answer in answers), default=1)


def describe_method(comparison: Comparison) -> list[str]:
    """Return how pairs are compared, and what is not compared."""
    lines = list(_METHOD if len(comparison.agents) > 2 else _METHOD[:1])
    if (comparisons := count_comparisons(comparison)) > 1:
        lines.append(f"p and intervals allow for {plural(comparisons, 'comparison')} by Holm's method.")
    if missing := {each.kind for summary in comparison.agents for each in summary.means.like.missing}:
        lines += [f"{kind.capitalize()} trials: {claims.MISSING_RULES[kind]}." for kind in sorted(missing)]
    if comparison.excluded:
        names = ", ".join(map(short_task_name, comparison.excluded))
        lines.append(f"Excluded, because not every agent has a result: {names}.")
    return [*lines, *(f"Not compared: {line}." for line in comparison.refused), *comparison.caveats]
