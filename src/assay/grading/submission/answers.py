"""The hidden answers of a prepared task: the ids that rows are asked for by, the true values, and what metrics need.

They are read as the submission was: plainly, which is quick, or as the published graders read them. Each way is taken
only when it is asked for.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay.core.errors import InvalidSubmission, NotPrepared
from assay.grading.submission.answers_cache import remembered
from assay.grading.submission.decoding import decoded
from assay.grading.submission.pandas_rules import classes_of
from assay.grading.submission.parsed import ParsedSubmission, stacked
from assay.grading.submission.strict_values import inferred, true_values
from assay.grading.submission.table import parse_table, plain_header, read_quickly
from assay.tasks import Codec, Column, Submission, Task

if TYPE_CHECKING:
    import pandas as pd

    from assay.data.store import Prepared

KEY_SEPARATOR = ", "


@dataclass(frozen=True)
class Answers:
    """The answers of a task in one edition, read when they are needed."""

    task: Task
    path: Path
    kept: Path | None = None

    @cached_property
    def table(self) -> pl.DataFrame:
        """The columns that matter: numbers as numbers where they are plain, everything else as text."""
        wanted = self._wanted()
        numeric = [rule.answer or name for name, rule in self._scored() if _is_numeric(rule)]
        return remembered(self.kept, self.path, [wanted, numeric], lambda: self._parsed(wanted, numeric))

    @cached_property
    def frame(self) -> "pd.DataFrame":
        """All columns, as the published graders read them."""
        from assay.grading.submission.lenient import read_frame

        try:
            return read_frame(self._content(), self.path.name, wanted=self._wanted())
        except InvalidSubmission as error:
            raise self._damaged(error) from None

    @cached_property
    def ids(self) -> pl.Series | None:
        """The ids of the rows asked for, in order, as text; public knowledge."""
        submission = self.task.submission
        if not submission.by_id:
            return None
        key = key_of(self.table, submission)
        return key.fill_null("") if key.null_count() else key

    @cached_property
    def hashes(self) -> NDArray[np.uint64] | None:
        """The hashes of the ids, which are compared in less time than the ids."""
        if self.ids is None:
            return None
        ids, submission = self.ids, self.task.submission
        how = ["hashes", submission.id, *submission.id_with]
        return remembered(self.kept, self.path, how, lambda: pl.DataFrame({"hash": ids.hash()}))["hash"].to_numpy()

    @cached_property
    def width(self) -> int:
        """How many columns there are."""
        with self.path.open("rb") as file:
            return len(plain_header(file.readline()) or ())

    def truth(self, checked: ParsedSubmission) -> NDArray[Any]:
        """The true values of the rows of `checked`, in the same form as its own."""
        try:
            return stacked([self._true(name, rule, checked) for name, rule in self._scored()])
        except InvalidSubmission as error:
            raise self._damaged(error) from None

    def parameters(self, checked: ParsedSubmission) -> dict[str, NDArray[Any]]:
        """What the metric takes beside truth and prediction, for the same rows."""
        metric = self.task.metric
        found = {
            key: stacked([self.column(name, checked) for name in ([names] if isinstance(names, str) else names)])
            for key, names in metric.answers.items()
        }
        if metric.places:
            rows = len(next(iter(checked.columns.values())))
            found[metric.places] = np.arange(rows) if checked.places is None else checked.places
        return found

    def of_row(self, codec: Codec, checked: ParsedSubmission) -> dict[str, NDArray[Any]]:
        """The codec's parameters that each row has its own of."""
        return {key: self.column(name, checked) for key, name in codec.answers.items()}

    def column(self, name: str, checked: ParsedSubmission) -> NDArray[Any]:
        """A column of the answers that no rule describes, for the rows of `checked`."""
        if checked.published:
            from assay.grading.submission.lenient_values import loose_values

            values = loose_values(self.frame[name])
        else:
            values = inferred(self.table[name])
        return values if checked.rows is None else values[checked.rows]

    def skipped(self, *, published: bool) -> NDArray[np.bool_] | None:
        """Which answers do not count; None where all do."""
        skip = self.task.submission.skip
        if skip is None:
            return None
        return np.asarray(self.column(skip.column, ParsedSubmission({}, published=published)) == skip.value, dtype=bool)

    def _parsed(self, wanted: list[str], numeric: list[str]) -> pl.DataFrame:
        content = self._content()
        table = read_quickly(content, wanted, numeric, ours=True)
        if table is not None:
            return table
        try:
            return parse_table(content, wanted, self.path.name, allow_more=True)
        except InvalidSubmission as error:
            raise self._damaged(error) from None

    def _true(self, name: str, rule: Column, checked: ParsedSubmission) -> NDArray[Any]:
        column = rule.answer or name
        if checked.published:
            from assay.grading.submission.lenient_values import true_frame_values

            values = true_frame_values(self.frame[column], column, rule)
        elif self.task.submission.lenient and rule.type in ("category", "boolean"):
            found = classes_of(self.table[column])
            assert found is not None  # the quick road is taken only where they are plain
            values = found
        else:
            values = true_values(self.table[column], rule)
        if checked.rows is not None:
            values = values[checked.rows]
        codec = rule.truth or rule.codec
        if codec is None:
            return values
        return decoded(values, codec, self.of_row(codec, checked), lambda row: f"{self.path.name}, row {row + 1}")

    def _scored(self) -> list[tuple[str, Column]]:
        return [(name, rule) for name, rule in self.task.submission.columns.items() if rule.scored]

    def _wanted(self) -> list[str]:
        """The columns of the answers that anything asks for, each once."""
        submission, metric = self.task.submission, self.task.metric
        names = [submission.id, *submission.id_with] if submission.id and submission.by_id else []
        for name, rule in self._scored():
            names.append(rule.answer or name)
            for codec in (rule.codec, rule.truth):
                names.extend(codec.answers.values() if codec else ())
        for columns in metric.answers.values():
            names.extend([columns] if isinstance(columns, str) else columns)
        names.extend([submission.skip.column] if submission.skip else [])
        return list(dict.fromkeys(names))

    def _content(self) -> bytes:
        try:
            return self.path.read_bytes()
        except FileNotFoundError:
            raise NotPrepared(f"{self.task.id} has no answers at {self.path}; prepare it again") from None

    def _damaged(self, error: InvalidSubmission) -> NotPrepared:
        return NotPrepared(f"the answers of {self.task.id} are damaged; prepare it again ({error})")


def read_answers(task: Task, prepared: "Prepared") -> Answers:
    """The hidden answers of a prepared task, judged by the rules of the edition it was prepared in."""
    place = prepared.private.parent / "parsed"
    return Answers(task.in_edition(prepared.edition), prepared.private / task.data.answers, place)


def key_of(table: pl.DataFrame, submission: Submission) -> pl.Series:
    """What names each row of a table as text: its id, or its id and the columns that go with it."""
    columns = [str(submission.id), *submission.id_with]
    if len(columns) == 1:
        return table[columns[0]]
    return table.select(pl.concat_str(columns, separator=KEY_SEPARATOR).alias(KEY_SEPARATOR.join(columns))).to_series()


def _is_numeric(rule: Column) -> bool:
    return rule.type in ("number", "integer") and rule.codec is None and rule.truth is None
