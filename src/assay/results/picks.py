"""Picks of trials with hidden selection: the agent's own, that of hidden rows, and the best, next to test-set noise."""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from statistics import fmean

from assay.core.errors import AssayError
from assay.core.home import Home
from assay.core.table import Column, Table, Value
from assay.core.values import Estimate
from assay.records import read_events
from assay.records.events import Event, Picked
from assay.records.search import read_journal
from assay.records.selection import find_offers, find_pick
from assay.results.estimate import estimate_mean
from assay.results.frame import Direction, Frame, TrialRow, group_by
from assay.results.progress import ScoredCandidate, grade_candidates, load_candidates
from assay.tasks import Task

_COLUMNS = (
    Column("task", "Task", heading=True),
    Column("agent", "Agent"),
    Column("trials", "Trials", kind="integer"),
    Column("candidates", "Candidates", kind="integer"),
    Column("own", "Own pick", kind="estimate"),
    Column("hidden", "Hidden pick", kind="estimate"),
    Column("oracle", "Oracle", kind="estimate"),
    Column("noise", "Noise", kind="number"),
)
NOTES = (
    "Scores on the test rows, ± standard error over trials, of the candidate that the agent left, and of the one with "
    "the best score on hidden rows. Noise: mean standard error of such a score over test rows like these.",
    "Oracle: the best candidate by one half of the test rows, scored on the other; known once assay study selection "
    "has graded all candidates, which also says what hidden selection gains, over budgets and with intervals.",
)


@dataclass(frozen=True)
class Picks:
    """The scores of a trial's picks on the test rows, as far as they are known."""

    candidates: int
    own: float | None
    hidden: float | None
    oracle: float | None
    noise: float | None


def picks_table(rows: Frame) -> Table | None:
    """Return a row per task and agent; None if no trial has hidden selection."""
    home = Home.default()
    tasks = {name: task.in_edition(rows[0].edition) for name, task in rows.known_tasks.items()} if rows else {}
    concerned = [row for row in rows if row.counts and row.task in tasks]
    known = [(row, picks) for row in concerned if (picks := read_picks(row, tasks[row.task], home))]
    records = [_make_record(own) for own in group_by(known, lambda pair: (pair[0].task, pair[0].agent))]
    if not records:
        return None
    return Table.from_records("picks", _COLUMNS, records, title=f"{rows[0].rules}, picks", notes=NOTES)


def list_candidates(events: Sequence[Event], picked: Picked, direction: Direction) -> dict[str, float | None]:
    """Return the candidates that hidden rows score, as first offered, with how good each is by the agent's own metric.

    Of an agent that records nodes, these are its nodes: other submissions are placeholders.
    """
    journal = read_journal(events, direction)
    own = {node.submission: journal.value(node) for node in reversed(journal.good)}
    scored = {entry.candidate for entry in picked.scores if entry.score is not None}
    order = [digest for digest in find_offers(events) if digest in scored]
    return {digest: own.get(digest) for digest in order if not own or digest in own}


def read_picks(row: TrialRow, task: Task, home: Home) -> Picks | None:
    """Return the picks of a trial; None if it has none, or its candidates cannot be graded here."""
    if row.record is None or row.record.file.selection == "own" or not row.record.folder.has_log:
        return None
    folder, lower = row.record.folder, row.direction == "lower"
    try:
        events = read_events(folder.events)
        picked = find_pick(events)
        if picked is None:
            return None
        scored = list_candidates(events, picked, row.direction)
        digests = [digest for digest in (picked.own, picked.hidden) if digest]
        grades = {each.digest: each.grade for each in grade_candidates(folder, task, home, digests)}
        candidates = load_candidates(folder, home, scored)
    except AssayError:
        return None
    own, hidden = (grades.get(digest or "") for digest in (picked.own, picked.hidden))
    return Picks(
        candidates=len(scored),
        own=own.score if own else None,
        hidden=hidden.score if hidden else None,
        oracle=find_oracle(candidates, lower=lower) if candidates else None,
        noise=hidden.score_error if hidden else None,
    )


def find_oracle(candidates: Sequence[ScoredCandidate], *, lower: bool) -> float | None:
    """Return the score of the best candidate: each half of the test rows scores what the other half chooses."""
    halves = [
        each.halves or (each.grade.score, each.grade.score) for each in candidates if each.grade.score is not None
    ]
    if not halves:
        return None
    choose = min if lower else max
    return (choose(halves, key=itemgetter(0))[1] + choose(halves, key=itemgetter(1))[0]) / 2


def _make_record(pairs: Sequence[tuple[TrialRow, Picks]]) -> dict[str, Value]:
    row, picks = pairs[0][0], [own for _, own in pairs]
    errors = [own.noise for own in picks if own.noise is not None]
    return {
        "task": row.task,
        "agent": row.agent,
        "trials": len(picks),
        "candidates": sum(own.candidates for own in picks),
        "own": _average([own.own for own in picks]),
        "hidden": _average([own.hidden for own in picks]),
        "oracle": _average([own.oracle for own in picks]),
        "noise": fmean(errors) if errors else None,
    }


def _average(values: Sequence[float | None]) -> Estimate | None:
    """Return the mean of values of which none is missing."""
    known = [value for value in values if value is not None]
    return estimate_mean(known) if len(known) == len(values) else None
