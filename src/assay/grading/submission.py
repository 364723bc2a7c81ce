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
from assay.grading.table import ROW, listed, parse_table, read_quickly, shown
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


@dataclass(frozen=True)
class Answers:
    """The answers' table, read once: ids as text, true values as text or as numbers already."""

    table: pl.DataFrame

    def ids(self, task: Task) -> pl.Series | None:
        """The ids of the rows asked for, in order; public knowledge."""
        return self.table[task.submission.id] if task.submission.id else None

    def values(self, task: Task) -> CheckedTable:
        """The true values, in the order that `check` gives; for graders only."""
        try:
            return _typed(self.table, task, "answers.csv", lambda row: f"row {row + 1}")
        except InvalidSubmission as error:
            raise _damaged(task, error) from None


def read_answers(task: Task, prepared: "Prepared") -> Answers:
    """The hidden answers of a prepared task."""
    path, submission = prepared.private / "answers.csv", task.submission
    columns = [*([submission.id] if submission.id else []), *submission.columns]
    try:
        content = path.read_bytes()
        table = read_quickly(content, submission, more=True)
        return Answers(table if table is not None else parse_table(content, columns, path.name, allow_more=True))
    except FileNotFoundError:
        raise NotPrepared(f"{task.id} has no answers at {path}; prepare it again") from None
    except InvalidSubmission as error:
        raise _damaged(task, error) from None


def check(path: Path, task: Task, answers: Answers) -> CheckedTable:
    """The submission at `path`, checked against the task's rules and put into the order of the answers."""
    content = read_plain_file(path, task.submission.max_size)
    return _check_quickly(content, task, answers) or _check_carefully(content, path.name, task, answers)


def _check_quickly(content: bytes, task: Task, answers: Answers) -> CheckedTable | None:
    """The same for a table with nothing wrong or unusual in it; None for any other, which the careful road explains."""
    table, asked = read_quickly(content, task.submission), answers.ids(task)
    if table is None or len(table) != len(answers.table):
        return None
    if asked is not None and not table[asked.name].equals(asked):
        # Hashes of 64 bits are joined several times faster than text. Nobody gains by an id that only has the hash of
        # the right one, and two ids with the same hash make the result too long.
        places = table[asked.name].hash().to_frame("hash").with_row_index(ROW)
        found = asked.hash().to_frame("hash").join(places, on="hash", how="left", maintain_order="left")[ROW]
        if len(found) != len(asked) or found.null_count():
            return None
        table = table.drop(asked.name)[found]
    try:
        return _typed(table, task, "", str)
    except InvalidSubmission:
        return None


def _check_carefully(content: bytes, name: str, task: Task, answers: Answers) -> CheckedTable:
    """The same, one rule after the other, so that the first that is broken can be named."""
    columns, asked = list(task.submission.columns), answers.ids(task)
    if asked is None:
        table = parse_table(content, columns, name)
        if len(table) != len(answers.table):
            raise InvalidSubmission(f"{name} has {len(table):,} rows; {len(answers.table):,} are needed.")
        return _typed(table, task, name, lambda row: f"row {table[ROW][row]}")
    key = asked.name
    ordered = _in_order(parse_table(content, [key, *columns], name), asked, name)
    return _typed(ordered, task, name, lambda row: f"{key} {shown(ordered[key][row])}")


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
