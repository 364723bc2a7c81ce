"""Compare two versions of an agent by score, paired by task, variant and seed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from assay.core.claim import format_limits
from assay.core.table import Column, Formatted, Table, Value
from assay.core.text import one_line, plural
from assay.core.values import format_number, format_p, format_points
from assay.results.claims import Answers, Outcome, Verdict
from assay.results.frame import CONDITIONS, Frame, TrialRow, condition_of
from assay.results.paired import Experiment, compare_arms
from assay.results.report import short_task_name

_COLUMNS = (
    Column("task", min_width=16),
    Column("variant", "data", drop=1),
    Column("seed", kind="integer"),
    Column("before", kind="number"),
    Column("now", kind="number"),
    Column("change", kind="number"),
    Column("reason", data_only=True),
    Column("trial", data_only=True),
)
_MAX_NAMED = 3

Key = tuple[str, str, int]


@dataclass(frozen=True)
class PairedTrial:
    """A trial of either version with the same task, data and seed."""

    before: TrialRow
    now: TrialRow

    @property
    def change(self) -> float:
        """The relative change of the score, (n − b) / (|n| + |b|), positive if better; a failure is below all scores.

        It is the change of `improvement` with the version before in the role of the starter: 5 points are a change of
        the score by about 10%.
        """
        before, now = self.before.score, self.now.score
        if before is None or now is None:
            return float((now is not None) - (before is not None))
        sign = 1 if self.now.direction == "higher" else -1
        return 0.0 if now == before else sign * (now - before) / (abs(now) + abs(before))

    @property
    def broke(self) -> bool:
        """Whether the version before has a score here, and this one has none."""
        return self.before.valid and not self.now.valid

    @property
    def key(self) -> Key:
        """Task, variant and seed."""
        return _key(self.now)


@dataclass(frozen=True)
class Change:
    """How a version compares with another one; `answers` are None where all scores are equal, or none is paired."""

    outcome: Outcome
    sentence: str
    pairs: tuple[PairedTrial, ...]
    unpaired: tuple[str, ...]
    answers: Answers | None

    @property
    def broken(self) -> tuple[PairedTrial, ...]:
        """The pairs in which the version before has a score, and this one has none."""
        return tuple(pair for pair in self.pairs if pair.broke)

    def to_table(self) -> Table:
        """Return a row per pair with another score, the largest change first."""
        changed = sorted((pair for pair in self.pairs if pair.change), key=lambda pair: (pair.change, pair.key))
        return Table.from_records("changes", _COLUMNS, map(_make_record, changed), title="Changed scores")


def compare_versions(before: Frame, now: Frame, names: tuple[str, str]) -> Change:
    """Compare a version with one before it; `names` are those of the version before and of this one."""
    pairs, unpaired = _pair_up(before, now)
    if not pairs:
        reason = unpaired[0] if unpaired else "they share no task"
        return Change("not known", f"It is not known how {names[1]} compares: {reason}.", (), tuple(unpaired), None)
    answers = None if not any(pair.change for pair in pairs) else _compare(pairs, names)
    scored = any(pair.now.valid for pair in pairs)
    outcome: Outcome = answers.these.outcome if answers else "equivalent" if scored else "not known"
    sentence = _describe(outcome, answers.these if answers else None, pairs, names)
    return Change(outcome, sentence, tuple(pairs), tuple(unpaired), answers)


def _compare(pairs: Sequence[PairedTrial], names: tuple[str, str]) -> Answers:
    """Compare through the claim layer; each pair is one observation here, and each task one beyond these tasks."""
    units = {" ".join(map(str, pair.key)): pair for pair in pairs}
    now, before = (
        {(unit, 1): (1 + sign * pair.change) / 2 for unit, pair in units.items()} for sign in (1, -1)
    )  # values between 0 and 1 whose difference is the change
    families = {unit: pair.now.task for unit, pair in units.items()}
    (difference,) = compare_arms([Experiment(now, before, (names[1], names[0]), "improvement", families)])
    return difference.answers


def _pair_up(before: Frame, now: Frame) -> tuple[list[PairedTrial], list[str]]:
    """Return the pairs made under the same conditions, and for each other trial why it has no partner."""
    partners = {_key(row): row for row in _select(before)}
    pairs, unpaired = [], []
    for row in _select(now):
        partner = partners.get(_key(row))
        name = f"{short_task_name(row.task)}, seed {row.seed}"
        if partner is None:
            unpaired.append(f"{name}: the version before has no such trial")
        elif "infrastructure" in (row.failure, partner.failure):
            unpaired.append(f"{name}: the infrastructure failed it")
        elif differing := _find_differing(partner, row):
            unpaired.append(f"{name}: {differing} changed since")
        else:
            pairs.append(PairedTrial(partner, row))
    return pairs, unpaired


def _select(rows: Iterable[TrialRow]) -> list[TrialRow]:
    return [row for row in rows if row.counts and not row.unended]


def _key(row: TrialRow) -> Key:
    return row.task, row.variant, row.seed


def _find_differing(first: TrialRow, second: TrialRow) -> str:
    """Return the conditions in which two trials are known to differ."""
    values = {name: {condition_of(first, name), condition_of(second, name)} - {"unknown"} for name in CONDITIONS}
    return ", ".join(name for name, known in values.items() if len(known) > 1)


def _describe(outcome: Outcome, verdict: Verdict | None, pairs: Sequence[PairedTrial], names: tuple[str, str]) -> str:
    """Return the outcome in a sentence, with the amount, what it rests on, and where the version broke."""
    before, now = names
    tasks = len({pair.now.task for pair in pairs})
    basis, here = f"{plural(len(pairs), 'pair')} of trials", "this task" if tasks == 1 else f"these {tasks} tasks"
    start = {
        "better": f"{now} is better than {before} on {here}",
        "worse": f"{now} is worse than {before} on {here}",
        "equivalent": f"{now} and {before} are equivalent on {here}",
        "not known": f"It is not known whether {now} is better or worse than {before} on {here}",
    }[outcome]
    if verdict is None:
        amount = f"the same score in {'the' if len(pairs) == 1 else 'all'} {basis}"
        if outcome == "not known":
            amount = f"neither has a score in any of {basis}"
    else:
        p = format_p(verdict.claim.p_adjusted or 0.0)
        amount = (
            f"{format_points(verdict.claim.value)} points by score (95%: {format_limits(verdict.claim)}, p "
            f"{'' if p.startswith('<') else '= '}{p}) in {basis}"
        )
        amount += f"; {verdict.settled_by} would tell" if verdict.settled_by.startswith("about") else ""
    broken = list(dict.fromkeys(short_task_name(pair.now.task) for pair in pairs if pair.broke))
    more = f" and {len(broken) - _MAX_NAMED} more" if len(broken) > _MAX_NAMED else ""
    where = f"; it broke on {', '.join(broken[:_MAX_NAMED])}{more}" if broken else ""
    return f"{start[:1].upper()}{start[1:]}: {amount}{where}."


def _make_record(pair: PairedTrial) -> dict[str, Value]:
    return {
        "task": short_task_name(pair.now.task),
        "variant": pair.now.variant,
        "seed": pair.now.seed,
        "before": _format_score(pair.before),
        "now": _format_score(pair.now),
        "change": Formatted(pair.change, format_points(pair.change, 1)),
        "reason": describe_failure(pair.now),
        "trial": pair.now.trial,
    }


def describe_failure(row: TrialRow) -> str | None:
    """Return why a trial has no score, in a line."""
    if row.valid:
        return None
    return one_line(f"{row.failure_name or row.status}: {row.reason}" if row.reason else row.failure_name or row.status)


def _format_score(row: TrialRow) -> Formatted:
    return Formatted(row.score, "–" if row.score is None else format_number(row.score))
