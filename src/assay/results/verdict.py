"""A comparison in words and tables: who is ahead, by how much, how sure that is, on which tasks, and why."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log

from assay.core.table import Column, Formatted, Table, Value
from assay.core.text import plural
from assay.core.values import format_p, format_percent, format_points
from assay.results.frame import TrialRow
from assay.results.inference import INTERVAL_METHOD
from assay.results.paired import PROFILE, AgentSummary, Comparison, PairedDifference, TaskDifference
from assay.results.report import describe_failures, short_task_name

_FEWEST_TASKS = 6
"""A sign-flip test over fewer tasks has no p-value below 5%: the smallest is 2 / 2⁵ = 0.0625."""
_MAX_NAMED = 3
_MAX_TASKS = 5
_PAIR_FIELDS = (
    *("first", "second", "difference", "error", "p", "p_adjusted", "exact", "mcnemar"),
    *("probability_of_improvement", "detectable"),
)


@dataclass(frozen=True)
class Verdict:
    """Two agents, the one that is ahead first, and what is said of them.

    `amount` is by how much they differ and how sure that is, `tasks` where they do, and `shortfall` what happened where
    the second did not succeed, if its trials are known; so many of them were `failures`.
    """

    first: str
    relation: str
    second: str
    reservation: str
    significant: bool
    amount: str
    tasks: str
    shortfall: str | None
    failures: int

    @property
    def headline(self) -> str:
        """Who is better, as a sentence."""
        return f"{self.first} {self.relation} {self.second}{self.reservation}."


def make_verdict(comparison: Comparison, pair: PairedDifference, rows: Sequence[TrialRow] = ()) -> Verdict:
    """Return the verdict on a pair; `rows` are the trials that were compared, and may have others among them."""
    sign, compared = -1 if pair.difference < 0 else 1, {task.task for task in pair.tasks}
    first, second = (pair.first, pair.second) if sign > 0 else (pair.second, pair.first)
    relation, reservation = _judge(pair)
    own = [row for row in rows if row.agent == second and row.task in compared and row.counts and not row.pending]
    failures = Counter(name for row in own if (name := row.failure_name) is not None)
    return Verdict(
        first=first,
        relation=relation,
        second=second,
        reservation=reservation,
        significant=pair.significant,
        amount=_describe_amount(comparison, pair, sign),
        tasks=_describe_tasks(comparison, pair, sign, {row.task: row.title for row in rows}),
        shortfall=_describe_shortfall(second, own, failures) if pair.difference else None,
        failures=failures.total(),
    )


def _judge(pair: PairedDifference) -> tuple[str, str]:
    """Return what the first agent is in relation to the second, and what is to be said against that."""
    if pair.significant:
        return "is better than", ""
    if pair.difference and len(pair.tasks) < _FEWEST_TASKS:
        too_few = "1 task is" if len(pair.tasks) == 1 else f"{len(pair.tasks)} tasks are"
        return "leads", f", but {too_few} too few for significance"
    if pair.interval.low > 0 or pair.interval.high < 0:
        return "leads", ", but the difference is not significant"
    return "and", ": no difference detected"


def _describe_amount(comparison: Comparison, pair: PairedDifference, sign: int) -> str:
    low, high = sorted((sign * pair.interval.low, sign * pair.interval.high))
    interval = f"95% interval {format_points(low)} to {format_points(high)}"
    p = f"p {format_p(pair.p_adjusted)}" if pair.p_adjusted < 0.001 else f"p = {format_p(pair.p_adjusted)}"
    tasks = plural(len(pair.tasks), "task")
    amount = f"{format_points(sign * pair.difference)} points of {comparison.measure}"
    text = f"{amount} on average over {tasks} ({interval}, {p})."
    if len(pair.tasks) < _FEWEST_TASKS:
        return f"{text} A test over {tasks} cannot be significant; that needs at least {_FEWEST_TASKS}."
    if not pair.significant and pair.detectable is not None:
        text += f" With {tasks}, differences of {100 * pair.detectable:.0f} points are detectable (80% power)."
    return text


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


def comparison_tables(comparison: Comparison) -> list[Table]:
    """Return the agents with their means, the shares of trials above thresholds, and the differences by pair."""
    tables = [_agents_table(comparison)]
    if comparison.measure != "success":
        tables.append(_profile_table(comparison))
    return [*tables, _pairs_table(comparison)]


def describe_pair(comparison: Comparison, pair: PairedDifference) -> list[str]:
    """Return the verdict on a pair and what it rests on, a sentence a line."""
    test = "exact" if pair.exact else "sampled"
    lines = [
        make_verdict(comparison, pair).headline,
        f"difference {format_points(pair.difference, 1)} points, 95% interval {format_points(pair.interval.low, 1)} to "
        f"{format_points(pair.interval.high, 1)}, p = {format_p(pair.p)} ({test} sign-flip test), "
        f"{format_p(pair.p_adjusted)} adjusted",
        f"a trial of {pair.first} beats one of {pair.second} with probability {pair.probability_of_improvement:.2f}",
    ]
    if pair.mcnemar is not None:
        lines.append(f"McNemar's test over trials of the same task and seed: p = {format_p(pair.mcnemar)}")
    if pair.detectable is not None:
        lines.append(
            f"with {plural(len(pair.tasks), 'task')}, differences of {100 * pair.detectable:.0f} points are detectable "
            "(80% power)"
        )
    differing = [task for task in pair.tasks if task.difference]
    lines += [
        f"  {format_points(task.difference, 1):>6}  {short_task_name(task.task)}: "
        f"{format_percent(task.first, 1)} against {format_percent(task.second, 1)}"
        for task in differing[:_MAX_TASKS]
    ]
    if more := len(differing[_MAX_TASKS:]):
        lines.append(f"          and {plural(more, 'task')} more")
    return lines


def format_strength(summary: AgentSummary) -> str:
    """Return the rank strength of an agent with its interval in Elo points: 400 are odds of ten to one."""
    strengths = (summary.strength, summary.strength_interval.low, summary.strength_interval.high)
    return "{:+.0f} ({:+.0f} to {:+.0f})".format(*(400 / log(10) * value for value in strengths)).replace("-", "−")


def _agents_table(comparison: Comparison) -> Table:
    unit = "" if comparison.measure == "improvement" else ", of finished trials, failures included"
    columns = (
        Column("agent"),
        Column("mean", "mean ± error", kind="percent", decimals=1),
        Column("error", kind="percent", data_only=True),
        Column("interval", "95% interval", kind="interval"),
        Column("iqm", "IQM", kind="percent", decimals=1),
        Column("strength", "Elo", kind="number"),
        Column("strength_interval", kind="interval", data_only=True),
    )
    rows = [
        {
            "agent": summary.agent,
            "mean": Formatted(summary.mean, _format_mean(summary)),
            "error": summary.error,
            "interval": Formatted(
                summary.interval,
                f"{format_percent(summary.interval.low, 1)} to {format_percent(summary.interval.high, 1)}",
            ),
            "iqm": summary.iqm,
            "strength": Formatted(summary.strength, format_strength(summary)),
            "strength_interval": summary.strength_interval,
        }
        for summary in comparison.agents
    ]
    title = f"{comparison.suite}: {comparison.measure} on {plural(len(comparison.tasks), 'task')}{unit}"
    return Table.from_records("agents", columns, rows, title=title)


def _profile_table(comparison: Comparison) -> Table:
    columns = [Column("agent", "share of trials above")]
    columns += [Column(f"above_{100 * t:.0f}", format_percent(t), kind="percent", decimals=1) for t in PROFILE]
    rows: list[tuple[Value, ...]] = [(summary.agent, *summary.profile.values()) for summary in comparison.agents]
    return Table("profile", tuple(columns), tuple(rows))


def _pairs_table(comparison: Comparison) -> Table:
    columns = (
        Column("first"),
        Column("second"),
        Column("difference", kind="points", decimals=1),
        Column("error", kind="points", data_only=True),
        Column("interval", "95% interval", kind="interval"),
        Column("p", kind="p"),
        Column("p_adjusted", "adjusted", kind="p"),
        Column("exact", kind="flag", data_only=True),
        Column("mcnemar", kind="p", data_only=True),
        Column("probability_of_improvement", kind="number", data_only=True),
        Column("detectable", kind="points", data_only=True),
        Column("verdict", kind="prose"),
    )
    rows = [
        {name: getattr(pair, name) for name in _PAIR_FIELDS}
        | {
            "interval": Formatted(
                pair.interval, f"{format_points(pair.interval.low, 1)} to {format_points(pair.interval.high, 1)}"
            ),
            "verdict": make_verdict(comparison, pair).headline,
        }
        for pair in comparison.pairs
    ]
    return Table.from_records("pairs", columns, rows, notes=tuple(_describe_method(comparison)))


def _describe_method(comparison: Comparison) -> list[str]:
    lines = [
        "±: standard error clustered by task.",
        f"Intervals: {INTERVAL_METHOD}.",
        "Elo: Bradley–Terry strength over wins by task, in Elo points around 0. IQM: interquartile mean.",
    ]
    if len(comparison.pairs) > 1:
        lines.append(f"Adjusted: by Holm's method for {len(comparison.pairs)} comparisons.")
    if comparison.excluded:
        names = ", ".join(map(short_task_name, comparison.excluded))
        lines.append(f"Excluded, because not every agent has a result: {names}.")
    return lines


def _format_mean(summary: AgentSummary) -> str:
    mean = format_percent(summary.mean, 1)
    return mean if summary.error is None else f"{mean} ± {format_percent(summary.error, 1)}"
