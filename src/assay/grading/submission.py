"""Reading and checking a submission table: the one road for grading and for validation.

Checking looks only at what is public: the form of the file, its columns, and the ids of the rows asked for. Every fault
is an `InvalidSubmission` with one sentence.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay.errors import InvalidSubmission, NotPrepared
from assay.grading.plain_file import read_plain_file
from assay.grading.table import ROW, listed, parse_table, shown
from assay.grading.values import typed
from assay.tasks import Task

if TYPE_CHECKING:
    from assay.data.store import Prepared


@dataclass(frozen=True)
class CheckedTable:
    """Typed values, one row per row asked for, in the order of the answers."""

    columns: Mapping[str, NDArray[Any]]

    @property
    def values(self) -> NDArray[Any]:
        """What a metric takes: one axis for one column, two for several."""
        arrays = list(self.columns.values())
        return arrays[0] if len(arrays) == 1 else np.column_stack(arrays)


def check(path: Path, task: Task, prepared: "Prepared") -> CheckedTable:
    """The submission at `path`, checked against the task's rules and put into the order of the answers."""
    key, columns = task.submission.id, list(task.submission.columns)
    content = read_plain_file(path, task.submission.max_size)
    if key is None:
        table, asked = parse_table(content, columns, path.name), _answers(task, prepared, [])
        if len(table) != len(asked):
            raise InvalidSubmission(f"{path.name} has {len(table):,} rows; {len(asked):,} are needed.")
        return _typed(table, task, path.name, lambda row: f"row {table[ROW][row]}")
    table = parse_table(content, [key, *columns], path.name)
    ordered = _in_order(table, _answers(task, prepared, [key])[key], path.name)
    return _typed(ordered, task, path.name, lambda row: f"{key} {shown(ordered[key][row])}")


def read_answers(task: Task, prepared: "Prepared") -> CheckedTable:
    """The true values, in the order that `check` gives; for graders only."""
    answers = _answers(task, prepared, list(task.submission.columns))
    try:
        return _typed(answers, task, "answers.csv", lambda row: f"row {answers[ROW][row]}")
    except InvalidSubmission as error:
        raise _damaged(task, error) from None


def _answers(task: Task, prepared: "Prepared", columns: list[str]) -> pl.DataFrame:
    """Columns of the answers as text; with no columns, only their row numbers."""
    path = prepared.private / "answers.csv"
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise NotPrepared(f"{task.id} has no answers at {path}; prepare it again") from None
    try:
        return parse_table(content, columns, path.name, allow_more=True).select(ROW, *columns)
    except InvalidSubmission as error:
        raise _damaged(task, error) from None


def _damaged(task: Task, error: InvalidSubmission) -> NotPrepared:
    return NotPrepared(f"the answers of {task.id} are damaged; prepare it again ({error})")


def _in_order(table: pl.DataFrame, asked: pl.Series, name: str) -> pl.DataFrame:
    """The rows of `table` in the order of the ids `asked` for, each exactly once. Ids are compared as text."""
    column = asked.name
    ids = table[column]
    if (blank := ids.is_null() | (ids == "")).any():
        raise InvalidSubmission(f"{name} has no {column} in row {table.filter(blank)[ROW][0]}.")
    if repeated := ids.filter(ids.is_duplicated()).unique(maintain_order=True).to_list():
        raise InvalidSubmission(f"{name} has {column} {listed(repeated)} more than once.")
    if unknown := ids.filter(~ids.is_in(asked.implode())).to_list():
        raise InvalidSubmission(f"{name} has unknown {column} {listed(unknown)}{_hint(unknown[0], asked)}.")
    if missing := asked.filter(~asked.is_in(ids.implode())).to_list():
        rows = f"it has {len(table):,} of {len(asked):,} rows"
        raise InvalidSubmission(f"{name} lacks {column} {listed(missing)}: {rows}.")
    return asked.to_frame().join(table, on=column, how="left", maintain_order="left")


def _hint(unknown: str, asked: pl.Series) -> str:
    """What was probably meant, where an id lost its zeros or became a fraction on its way through another program."""

    def plain(text: str) -> str:
        return text.strip().removesuffix(".0").lstrip("0").lower()

    meant = next((known for known in asked if plain(known) == plain(unknown)), None)
    return f"; {shown(meant)} is asked for, and ids are compared as text" if meant is not None else ""


def _typed(table: pl.DataFrame, task: Task, name: str, where: Callable[[int], str]) -> CheckedTable:
    return CheckedTable({key: typed(table[key], rule, name, where) for key, rule in task.submission.columns.items()})
