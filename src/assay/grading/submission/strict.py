"""Strict parsing: ids are text and must match exactly, columns and values must be as the task describes them.

A table is UTF-8 text, with or without a byte-order mark, with lines that end in LF or CRLF, comma-separated, quoted
with `"` where a value holds commas or newlines. The first line has the names, in any order. Blank lines are skipped.

- number: decimal or scientific notation; NaN and infinity are refused.
- integer: a number without a fractional part, so `3` and `3.0` alike.
- boolean: `true` or `false` in any case, and `1` or `0`, also written `1.0` and `0.0`, as many tools save them.
- category: one of the allowed values, compared as numbers or booleans if they are such; if none are listed, any
  text that is not empty.
- text: anything, including an empty value.

Whitespace around a value is ignored, except in text. An empty value is an error unless the rule says what it means.
"""

import csv
import io
import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay.core.errors import InvalidSubmission
from assay.core.text import quote, quote_some
from assay.grading.submission.answers import (
    BYTE_ORDER_MARK,
    MAX_HEADER,
    Answers,
    NameRow,
    ParsedSubmission,
    check_header,
    check_line_count,
    describe_rule,
    key_columns,
    refuse_value,
    within_bounds,
)
from assay.tasks import Column, Submission
from assay.tasks.rules import Ids

LARGEST_EXACT_INTEGER = 2**53

_ROW = "\0row"
"""The column for the number of each row in the file, counted from 1 below the header; no CSV header can contain it."""
_ID, _OCCURRENCE, _ANSWER = "\0id", "\0occurrence", "\0answer"
_TRUE, _FALSE = ("true", "1", "1.0"), ("false", "0", "0.0")


def parse_strictly(content: bytes, name: str, answers: "TextAnswers") -> ParsedSubmission:
    """Parse a submission, checking one rule after the other, so that the error names the first that is broken."""
    submission, expected_ids = answers.task.submission, answers.ids
    columns = [*key_columns(submission), *submission.columns]
    table = _parse_table(content, columns, name, submission, len(answers.table))
    rows = None
    if expected_ids is not None:
        table, rows = _match_rows(table, join_key(table, submission), expected_ids, submission.ids, name)
    elif len(table) != len(answers.table):
        raise InvalidSubmission(f"{name} has {len(table):,} rows; {len(answers.table):,} are needed.")

    def name_row(row: int) -> str:
        if expected_ids is None:
            return f"row {table[_ROW][row]}"
        return f"{expected_ids.name} {quote(expected_ids[row if rows is None else int(rows[row])])}"

    values = {column: parse_values(table[column], rule, name, name_row) for column, rule in submission.columns.items()}
    positions = table[_ROW].rank("ordinal").to_numpy().astype(np.int64) - 1
    return ParsedSubmission(answers, values, rows, positions).finish(name, name_row).drop_skipped()


class TextAnswers(Answers):
    """Answers as text and plain numbers."""

    @cached_property
    def table(self) -> pl.DataFrame:
        """The needed columns: numbers as numbers if all are plain, everything else as text."""
        needed = self.needed_columns()
        numeric = [
            rule.answer or name
            for name, rule in self.scored()
            if rule.type in ("number", "integer") and rule.codec is None and rule.truth is None
        ]
        return self.load_cached([needed, numeric], lambda: self._parse(needed, numeric))

    @cached_property
    def ids(self) -> pl.Series | None:
        """The ids of the needed rows as text, which are public; None if rows are matched by position."""
        submission = self.task.submission
        if not submission.by_id:
            return None
        key = join_key(self.table, submission)
        return key.fill_null("") if key.null_count() else key

    def column(self, name: str) -> NDArray[Any]:
        """Return numbers if all values are, booleans if all are, else text; missing is NaN among numbers, else ``."""
        text = self.table[name]
        if text.dtype != pl.String:
            return text.to_numpy()
        stripped = text.str.strip_chars().fill_null("")
        numbers = stripped.cast(pl.Float64, strict=False)
        if (numbers.is_not_null() | (stripped == "")).all():
            return numbers.fill_null(float("nan")).to_numpy()
        lower = stripped.str.to_lowercase()
        if lower.is_in(["true", "false"]).all():
            return (lower == "true").to_numpy()
        return text.fill_null("").to_numpy()

    def true_column(self, name: str, rule: Column) -> NDArray[Any]:
        """Return the values by the column's rule, except that they have no bounds and numbers may be missing."""
        missing = "keep" if rule.type == "number" else rule.missing
        unbounded = rule.model_copy(update={"min": None, "max": None, "missing": missing})
        return parse_values(self.table[name], unbounded, "answers", lambda row: f"row {row + 1}")

    def _parse(self, needed: list[str], numeric: list[str]) -> pl.DataFrame:
        content = self.read()
        for numbers in (numeric, []):
            try:
                types = {name: pl.Float64 if name in numbers else pl.String for name in needed}
                table = pl.read_csv(content, columns=needed, schema_overrides=types, infer_schema=False).select(needed)
            except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
                reason: object = error
                continue
            if any(column.null_count() for column in table):
                table = table.filter(~pl.all_horizontal(pl.all().is_null()))  # blank lines
            if not table.is_empty():
                return table
            reason = f"{self.path.name} has no rows"
        raise self.damaged(reason)


def join_key(table: pl.DataFrame, submission: Submission) -> pl.Series:
    """Return the text that identifies each row: its id, or its id and the columns that complete it."""
    columns = key_columns(submission)
    if len(columns) == 1:
        return table[columns[0]]
    return table.select(pl.concat_str(columns, separator=", ").alias(", ".join(columns))).to_series()


def parse_values(text: pl.Series, rule: Column, name: str, name_row: NameRow) -> NDArray[Any]:
    """Return the typed values of a column; `InvalidSubmission` names the first that breaks the rule."""
    if text.dtype == pl.String:
        text = (text if rule.type == "text" else text.str.strip_chars()).fill_null("")
    values, valid = _convert(text, rule)
    if rule.missing != "refuse" and rule.type != "text" and not valid.all():
        missing = (text == "" if text.dtype == pl.String else text.is_null()).to_numpy()
        values, valid = _fill(values, valid, missing, rule)
    if not valid.all():
        refuse_value(text.name, valid, lambda row: text[row], describe_rule(rule), name, name_row)
    return values


def _parse_table(content: bytes, columns: Sequence[str], name: str, submission: Submission, rows: int) -> pl.DataFrame:
    """Return the table with all values as text, and the column `_ROW`."""
    content = content.removeprefix(BYTE_ORDER_MARK)
    if b"\0" in content:
        raise InvalidSubmission(f"{name} is not text: it holds zero bytes; write a CSV file in UTF-8.")
    if not content.endswith(b"\n"):
        content += b"\n"  # Without it, polars overlooks one comma too many at the very end.
    header = _parse_header(content, name)
    check_header(header, columns, name, extra=submission.more_columns, order=submission.order)
    check_line_count(content, len(header), rows, name)
    # A header such as `x^2` begins like compressed data, which polars would unpack.
    skipped = int(content.startswith(b"x^"))
    try:
        table = pl.read_csv(b"-\n" * skipped + content, schema=dict.fromkeys(header, pl.String), skip_rows=skipped)
    except pl.exceptions.PolarsError as error:
        raise InvalidSubmission(f"{name} is not a CSV table: {_explain(error, content)}.") from None
    except pl.exceptions.PanicException:
        raise InvalidSubmission(f"{name} is not a CSV table: its rows cannot be separated.") from None
    table = table.with_row_index(_ROW, offset=1).filter(~pl.all_horizontal(pl.col(header).is_null()))
    if table.is_empty():
        raise InvalidSubmission(f"{name} has a header but no rows.")
    return table


def _parse_header(content: bytes, name: str) -> list[str]:
    """Return the column names. They are read before the body, so that a million columns cost nothing."""
    line, newline, _ = content[:MAX_HEADER].partition(b"\n")
    line = line.removesuffix(b"\r")
    before_return, carriage_return, _ = line.partition(b"\r")
    if carriage_return and before_return.count(b'"') % 2 == 0:  # not inside of quotes
        raise InvalidSubmission(f"{name} is not a CSV table: {_LONE_RETURN}.")
    if not newline and len(content) > MAX_HEADER:
        raise InvalidSubmission(f"{name} is not a CSV table: its first line is over {MAX_HEADER:,} bytes long.")
    try:
        return next(csv.reader(io.StringIO(line.decode(), newline="\n"), strict=True), [])
    except UnicodeDecodeError:
        raise InvalidSubmission(f"{name} is not UTF-8 text.") from None
    except csv.Error as error:
        raise InvalidSubmission(f"{name} is not a CSV table: in its first line, {error}.") from None


_LONE_RETURN = "lines end in a carriage return alone; end them with LF or CRLF"


def _explain(error: Exception, content: bytes) -> str:
    text = str(error)
    if "utf-8" in text.lower():
        return "it is not UTF-8 text"
    if "more fields" not in text:
        return "a quoted value does not end, or something follows its closing quote"
    if re.search(rb"\r(?!\n)", content):
        return _LONE_RETURN
    return "a row has more values than the header has columns"


def _match_rows(
    table: pl.DataFrame, ids: pl.Series, expected: pl.Series, policy: Ids, name: str
) -> tuple[pl.DataFrame, NDArray[np.int64] | None]:
    """Return the rows of `table` in the order of the expected ids, and the indexes of those answers; None for all.

    Every id must occur as often as expected; the n-th row of an id belongs to its n-th answer. A superset may have
    other ids too, and some may be missing from a subset.
    """
    repeats = policy == "nth_occurrence" or (
        policy not in ("superset", "subset") and bool(expected.is_duplicated().any())
    )
    blank = ids.is_null() | (ids == "")
    if blank.any():
        raise InvalidSubmission(f"{name} has no {expected.name} in row {table.filter(blank)[_ROW][0]}.")
    if repeats:
        _check_id_counts(ids, expected, name)
    elif ids.is_duplicated().any():
        repeated = ids.filter(ids.is_duplicated()).unique(maintain_order=True).to_list()
        raise InvalidSubmission(f"{name} has {expected.name} {quote_some(repeated)} more than once.")
    unknown = ids.filter(~ids.is_in(expected.implode())).to_list()
    if unknown and policy != "superset":
        hint = _suggest_id(unknown[0], expected)
        raise InvalidSubmission(f"{name} has unknown {expected.name} {quote_some(unknown)}{hint}.")
    missing = expected.filter(~expected.is_in(ids.implode())).to_list()
    if missing and policy != "subset":
        rows = f"{len(table):,} of {len(expected):,} rows found"
        raise InvalidSubmission(f"{name} is missing {expected.name} {quote_some(missing)} ({rows}).")
    how: Literal["inner", "left"] = "inner" if policy == "subset" else "left"
    numbered = _number_ids(expected, repeats).with_row_index(_ANSWER)
    submitted = table.hstack(_number_ids(ids, repeats))
    joined = numbered.join(submitted, on=[_ID, *([_OCCURRENCE] if repeats else [])], how=how, maintain_order="left")
    return joined, joined[_ANSWER].cast(pl.Int64).to_numpy() if policy == "subset" else None


def _number_ids(ids: pl.Series, repeats: bool) -> pl.DataFrame:
    """Return the ids and, if they repeat, which occurrence of its id each is."""
    names = ids.to_frame(_ID)
    return names.with_columns(pl.col(_ID).cum_count().over(_ID).alias(_OCCURRENCE)) if repeats else names


def _check_id_counts(ids: pl.Series, expected: pl.Series, name: str) -> None:
    counts = [values.value_counts(name=_OCCURRENCE).rename({values.name: _ID}) for values in (ids, expected)]
    both = counts[0].join(counts[1], on=_ID, suffix=" expected")
    wrong = both.filter(pl.col(_OCCURRENCE) != pl.col(f"{_OCCURRENCE} expected"))
    if len(wrong):
        first, times, needed = wrong.sort(_ID).row(0)
        raise InvalidSubmission(
            f"{name} has {expected.name} {quote(first)} {_times(times)}; it is needed {_times(needed)}."
        )


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _suggest_id(unknown: str, expected: pl.Series) -> str:
    """Return a hint at the intended id, if another program stripped its zeros or made it a fraction."""

    def plain(text: str) -> str:
        return text.strip().removesuffix(".0").lstrip("0").lower()

    intended = next((known for known in expected if plain(known) == plain(unknown)), None)
    return f"; {quote(intended)} is expected, and ids are compared as text" if intended is not None else ""


def _convert(text: pl.Series, rule: Column) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return the values, and which of them are valid."""
    allowed = rule.values or ()
    if rule.type == "boolean" or (allowed and all(isinstance(value, bool) for value in allowed)):
        lower = text.str.to_lowercase()
        values = lower.is_in(_TRUE).to_numpy()
        return values, values | lower.is_in(_FALSE).to_numpy()
    if rule.type in ("number", "integer") or (allowed and all(isinstance(value, int | float) for value in allowed)):
        return _convert_numbers(text, rule)
    values = text.to_numpy()
    if rule.type == "text" and not allowed:
        return values, np.ones(len(values), bool)
    valid = text.is_in([str(value) for value in allowed]) if allowed else text != ""
    return values, valid.to_numpy()


def _convert_numbers(text: pl.Series, rule: Column) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    numbers = text if text.dtype == pl.Float64 else text.cast(pl.Float64, strict=False)
    values = (numbers.fill_null(float("nan")) if numbers.null_count() else numbers).to_numpy()
    valid = np.isfinite(values) & within_bounds(values, rule)
    if rule.values is not None:
        valid &= np.isin(values, [float(value) for value in rule.values])
    if rule.type == "integer":
        valid &= (values == np.floor(values)) & (np.abs(values) <= LARGEST_EXACT_INTEGER)
        values = np.where(valid, values, 0).astype(np.int64)
    return values, valid


def _fill(
    values: NDArray[Any], valid: NDArray[np.bool_], missing: NDArray[np.bool_], rule: Column
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Replace missing values as the rule says, which makes them valid."""
    if not missing.any():
        return values, valid
    filler: object = rule.missing
    if filler == "keep":
        filler = "" if values.dtype.kind == "O" else float("nan")
    if values.dtype.kind in "bi" and not isinstance(filler, bool | int):
        values = values.astype(np.float64)
    return np.where(missing, np.asarray(filler, dtype=values.dtype), values), valid | missing
