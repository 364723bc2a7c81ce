"""Scores in a second setting: test rows of another distribution, next to the others, and how far the score drops."""

from collections.abc import Sequence
from statistics import fmean

from assay.core.table import Column, Table, Value
from assay.core.values import Estimate
from assay.results.estimate import estimate_mean
from assay.results.frame import TrialRow, group_by

_COLUMNS = (
    Column("task", "Task", heading=True),
    Column("agent", "Agent"),
    Column("setting", "Second setting"),
    Column("trials", "Trials", kind="integer"),
    Column("rest", "Other rows", kind="estimate"),
    Column("score", "Second setting", kind="estimate"),
    Column("drop", "Drop", kind="estimate"),
    Column("noise", "Noise of a drop", kind="number"),
)
NOTES = (
    "Drop: how much worse the score is on the rows of the second setting than on the other test rows, ± standard error "
    "over trials; negative is better.",
    "Noise of a drop: its mean standard error over test rows like these, for one trial.",
)


def second_table(rows: Sequence[TrialRow]) -> Table | None:
    """Return a row per task and agent; None if no task has a second setting."""
    known = [row for row in rows if row.counts and row.valid and row.grade and row.grade.second]
    records = [_make_record(trials) for trials in group_by(known, lambda row: (row.task, row.agent))]
    if not records:
        return None
    title = f"{rows[0].rules}, second setting"
    return Table.from_records("second", _COLUMNS, records, title=title, notes=NOTES)


def _make_record(rows: Sequence[TrialRow]) -> dict[str, Value]:
    grades = [row.grade for row in rows if row.grade]
    seconds = [grade.second for grade in grades if grade.second]
    drops = [grade.second.drop(lower_is_better=grade.is_lower_better) for grade in grades if grade.second]
    errors = [second.drop_error for second in seconds if second.drop_error is not None]
    return {
        "task": rows[0].task,
        "agent": rows[0].agent,
        "setting": seconds[0].title,
        "trials": len(rows),
        "rest": _estimate([second.rest for second in seconds]),
        "score": _estimate([second.score for second in seconds]),
        "drop": _estimate(drops),
        "noise": fmean(errors) if errors else None,
    }


def _estimate(values: Sequence[float | None]) -> Estimate | None:
    return estimate_mean(value for value in values if value is not None)
