"""The verdict on two agents in words: who is ahead, by how much, how sure that is, on which tasks, and why."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.core.text import plural
from assay.results.comparison import Comparison, PairComparison, TaskDifference
from assay.results.outcome import Outcome
from assay.results.wording import describe_failures, short_task_name

_FEWEST_TASKS = 6
"""A sign-flip test over fewer tasks has no p-value below 5 %: the smallest is 2 / 2⁵ = 0.0625."""
_MAX_NAMED = 3


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
    is_shown: bool
    amount: str
    tasks: str
    shortfall: str | None
    failures: int

    @property
    def headline(self) -> str:
        """Who is better, as a sentence."""
        return f"{self.first} {self.relation} {self.second}{self.reservation}."


def make_verdict(comparison: Comparison, pair: PairComparison, outcomes: Sequence[Outcome] = ()) -> Verdict:
    """Return the verdict on a pair; `outcomes` are the trials that were compared, and may have others among them."""
    sign, compared = -1 if pair.difference < 0 else 1, {one.task for one in pair.tasks}
    first, second = (pair.first, pair.second) if sign > 0 else (pair.second, pair.first)
    relation, reservation = _judge(pair)
    own = [one for one in outcomes if one.agent == second and one.task in compared and one.counts and not one.pending]
    failures = Counter(name for one in own if (name := one.failure_name) is not None)
    return Verdict(
        first=first,
        relation=relation,
        second=second,
        reservation=reservation,
        is_shown=pair.is_shown,
        amount=_describe_amount(comparison, pair, sign),
        tasks=_describe_tasks(comparison, pair, sign, {one.task: one.title for one in outcomes}),
        shortfall=_describe_shortfall(second, own, failures) if pair.difference else None,
        failures=failures.total(),
    )


def _judge(pair: PairComparison) -> tuple[str, str]:
    """Return what the first agent is in relation to the second, and what is to be said against that."""
    if pair.is_shown:
        return "is better than", ""
    if pair.difference and len(pair.tasks) < _FEWEST_TASKS:
        too_few = "1 task is" if len(pair.tasks) == 1 else f"{len(pair.tasks)} tasks are"
        return "is ahead of", f", but {too_few} too few to be sure"
    if pair.interval.low > 0 or pair.interval.high < 0:
        return "is ahead of", ", but not certainly better"
    return "and", ": no difference shown"


def _describe_amount(comparison: Comparison, pair: PairComparison, sign: int) -> str:
    low, high = sorted((sign * pair.interval.low, sign * pair.interval.high))
    interval = f"95 % interval {_points(low)} to {_points(high)}"
    p = "p < 0.001" if pair.p_adjusted < 0.001 else f"p = {pair.p_adjusted:.3f}"
    tasks = plural(len(pair.tasks), "task")
    text = (
        f"{_points(sign * pair.difference)} points of {comparison.measure} on average over {tasks} ({interval}, {p})."
    )
    if len(pair.tasks) < _FEWEST_TASKS:
        return f"{text} A test over {tasks} cannot be significant; it takes at least {_FEWEST_TASKS}."
    if not pair.is_shown and pair.detectable is not None:
        text += f" {tasks} like these show differences of {100 * pair.detectable:.0f} points or more."
    return text


def _describe_tasks(comparison: Comparison, pair: PairComparison, sign: int, titles: Mapping[str, str]) -> str:
    signs: dict[int, list[str]] = {1: [], -1: [], 0: []}
    for task in pair.tasks:  # the largest differences come first
        signs[_sign(task) * sign].append(titles.get(task.task, short_task_name(task.task)))
    left_out = [titles.get(task, short_task_name(task)) for task in comparison.left_out]
    kinds = (("better on", signs[1]), ("worse on", signs[-1]), ("the same on", signs[0]), ("not compared on", left_out))
    text = "; ".join(f"{words} {_name(tasks)}" for words, tasks in kinds if tasks)
    return f"{text[:1].upper()}{text[1:]}."


def _sign(task: TaskDifference) -> int:
    return (task.difference > 0) - (task.difference < 0)


def _name(tasks: Sequence[str]) -> str:
    if len(tasks) <= _MAX_NAMED:
        return f"{', '.join(tasks[:-1])} and {tasks[-1]}" if len(tasks) > 1 else tasks[0]
    return f"{len(tasks)} tasks, first of all {' and '.join(tasks[:2])}"


def _describe_shortfall(agent: str, own: Sequence[Outcome], failures: Counter[str]) -> str | None:
    weak = [one for one in own if one.valid and one.success is False]
    lost = len(weak) + failures.total()
    if not lost:
        return None
    missed = "not clearly better than the starter code (by more than 10 % and beyond noise)"
    if any(one.has_leaderboard for one in weak):
        missed = "without a medal"
    reasons = [f"{len(weak)} valid but {missed}"] if weak else []
    reasons += [describe_failures(dict(failures.most_common()))] if failures else []
    return f"{agent} did not succeed in {lost} of {plural(len(own), 'trial')}: {', '.join(reasons)}."


def _points(share: float) -> str:
    points = f"{100 * share:+.0f}".replace("-", "−")
    return "0" if points in ("+0", "−0") else points
