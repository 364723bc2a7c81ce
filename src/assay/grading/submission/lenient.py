"""Lenient parsing: files as pandas 2.2 reads them, matched and converted as the published graders do.

A name that the header repeats gets a number, a row with one value too many makes the first column an index, `007` is
the number 7 and so is `7.0`, `NA` is a missing value. Whatever would make a published grader fail is an
`InvalidSubmission` with a sentence of our own.

- number: what pandas reads as a number and, without an upper bound, also what `float()` takes, e.g. `1_0`; NaN and
  infinity are refused unless the rule has a use for missing values.
- integer: what `int()` takes, so 3.7 is 3.
- category and boolean: what scikit-learn 1.5 compares with the answers: integers and booleans with such, text with
  text, and for accuracy also one with the other. Any class is accepted.
- text: anything, numbers as Python writes them.
"""

import csv
import io
import math
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from assay.core.errors import InvalidSubmission
from assay.core.text import quote, quote_some
from assay.data.pandas_tables import EXACT_FLOATS
from assay.grading.submission.answers import (
    MAX_HEADER,
    Answers,
    NameRow,
    ParsedSubmission,
    check_header,
    check_line_count,
    check_sums,
    count_lines,
    describe_rule,
    find_published,
    key_columns,
    refuse_value,
    within_bounds,
)
from assay.tasks import Column, Task, load_plugin
from assay.tasks.rules import Ids

Indexes = NDArray[np.int64]
Pairs = tuple[Indexes, Indexes]
"""The indexes of answers, and for each the index of the row in the file that belongs to it."""

_MAX_INDEX_COLUMNS = 100  # values without a column name that pandas takes for an index: one is common, more a mistake
_ROW_TOO_LONG = "a row has more values than the header has columns"
_INT64_LIMIT = 2.0**63
_ZERO_BYTE = re.compile(rb'\0[^,"\r\n]*')  # ends a value in pandas 2.2
_ZERO_LINE = re.compile(rb'(?<![^\r\n])\0[^,"\r\n]*')  # as the first one of a line, it is not a blank line
_BLANK_LINES = re.compile(r"\A(?:[ \t]*+[\r\n])+")  # before the header, which pandas skips
_INTEGER_START = re.compile(r"\s*[+-]?\d+")


def parse_leniently(content: bytes, name: str, answers: "PandasAnswers") -> ParsedSubmission:
    """Parse a submission as its published grader does: by its rules, or by the task's `published.py`."""
    submission, published = answers.task.submission, find_published(answers.task)
    _check_shape(content, max(len(answers.frame), answers.line_count - 1), name)  # without the header
    frame = _read_frame(content, name, may_be_empty=submission.ids == "positional_prefix")
    table = LenientTable(frame, answers, name)
    if published is None:
        return table.parse()
    parsed: ParsedSubmission = load_plugin(published).read(table)
    return parsed


@dataclass(frozen=True)
class LenientTable:
    """A submitted table as pandas reads it, for `read(table)` of a task's `published.py`.

    Such a function does what only this published grader does, before or after `parse`, which follows the rules.
    """

    frame: pd.DataFrame
    answers: "PandasAnswers"
    name: str

    def parse(self, convert_numbers: "ConvertNumbers | None" = None) -> ParsedSubmission:
        """Match the rows to the answers and convert the columns that count; those of numbers as the argument says."""
        answers, submission = self.answers, self.answers.task.submission
        columns = _find_columns(self.frame, answers.task, self.name)
        expected = answers.frame[submission.id] if submission.by_id else None
        pairing = _IdPairing(self._ids, expected, len(self.frame), len(answers.frame), self.name)
        rows, positions = _match_rows(pairing, submission.ids, answers.skipped())
        name_row, values = self.name_rows(positions), {}
        for column, rule in answers.scored():
            series, truth = self.frame[columns[column]].iloc[positions], answers.frame[rule.answer or column]
            if rule.type == "number" and convert_numbers:
                values[column], valid = convert_numbers(series, rule)
                _refuse_invalid(series, column, valid, describe_rule(rule), self.name, name_row)
            else:
                values[column] = _convert(series, column, rule, truth, self.name, name_row)
        return ParsedSubmission(answers, values, rows, positions).finish(self.name, name_row)

    def convert_column(self, column: str, rule: Column, parsed: ParsedSubmission) -> NDArray[Any]:
        """Return the values of another column, by a rule, for the rows of a parsed submission."""
        series = self.matched(parsed)[column]
        return _convert(series, column, rule, series, self.name, self.name_rows(_positions(parsed)))

    def matched(self, parsed: ParsedSubmission) -> pd.DataFrame:
        """Return the rows of a parsed submission, in the order of their answers."""
        return self.frame.iloc[_positions(parsed)]

    def name_rows(self, positions: Indexes) -> NameRow:
        """Return how messages name the rows at these positions of the file."""
        ids = self._ids

        def name_row(row: int) -> str:
            position = int(positions[row])
            return f"row {position + 1}" if ids is None else f"{ids.name} {quote(ids.iloc[position])}"

        return name_row

    def check_sums(self, parsed: ParsedSubmission, sums: NDArray[Any], valid: NDArray[np.bool_]) -> None:
        """Raise `InvalidSubmission` unless all sums of rows are valid."""
        row_sum = self.answers.task.submission.row_sum
        assert row_sum is not None
        check_sums(sums, valid, row_sum.to, self.name, self.name_rows(_positions(parsed)))

    @staticmethod
    def convert_numbers(series: pd.Series, rule: Column) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Return the numbers of a column, and which of them are valid, by its rule."""
        return _convert_numbers(series, rule)

    @property
    def _ids(self) -> pd.Series | None:
        submission = self.answers.task.submission
        return self.frame[submission.id] if submission.by_id else None


def _positions(parsed: ParsedSubmission) -> Indexes:
    assert parsed.positions is not None
    return parsed.positions.astype(np.int64)


ConvertNumbers = Callable[[pd.Series, Column], tuple[NDArray[Any], NDArray[np.bool_]]]


class PandasAnswers(Answers):
    """Answers as pandas reads them."""

    @property
    def frame(self) -> pd.DataFrame:
        """All columns."""
        return self._parsed[0]

    @property
    def line_count(self) -> int:
        """The number of line ends, some of them inside texts that a submission may repeat."""
        return self._parsed[1]

    @cached_property
    def _parsed(self) -> tuple[pd.DataFrame, int]:
        needed = self.needed_columns()
        return self.recall(needed, lambda: self._parse(needed))

    def _parse(self, needed: list[str]) -> tuple[pd.DataFrame, int]:
        content = self.read()
        try:
            frame = _read_frame(content, self.path.name)
            check_header(list(map(str, frame.columns)), needed, self.path.name, extra=True)
        except InvalidSubmission as error:
            raise self.damaged(error) from None
        return frame, count_lines(content)

    def column(self, name: str) -> NDArray[Any]:
        """Return the values; missing text is empty."""
        series = self.frame[name]
        return series.fillna("").to_numpy() if series.dtype == object else series.to_numpy()

    def true_column(self, name: str, rule: Column) -> NDArray[Any]:
        """Return the values by the column's rule, except that they have no bounds and numbers may be missing."""
        missing = "keep" if rule.type == "number" else rule.missing
        unbounded = rule.model_copy(update={"min": None, "max": None, "missing": missing, "only_text": False})
        series = self.frame[name]
        return _convert(series, name, unbounded, series, "answers", lambda row: f"row {row + 1}")


def _check_shape(content: bytes, rows: int, name: str) -> None:
    """Refuse files that take pandas far more time and memory than their size: endless headers, floods of lines."""
    start = _BLANK_LINES.sub("", content[:MAX_HEADER].decode(errors="replace"))
    lines = io.StringIO(start, newline="")
    records = (values for values in csv.reader(lines) if values)
    header: list[str] = next(records, [])
    if len(content) > MAX_HEADER and lines.tell() == len(start):
        raise InvalidSubmission(f"{name} is not a CSV table: its first line is over {MAX_HEADER:,} bytes long.")
    if len(next(records, [])) > len(header) + _MAX_INDEX_COLUMNS:
        raise InvalidSubmission(f"{name} is not a CSV table: {_ROW_TOO_LONG}.")
    check_line_count(content, len(header), rows, name)


def _read_frame(content: bytes, name: str, *, may_be_empty: bool = False) -> pd.DataFrame:
    """Return the table as the published graders read it, with text as Python strings."""
    if b"\0" in content:
        content = _ZERO_BYTE.sub(b"", _ZERO_LINE.sub(b'""', content))
    try:
        frame = _read_csv(content)
        overflowing = [column for column in frame if _may_overflow(frame[column])]
        texts = _read_csv(content, dtype=dict.fromkeys(overflowing, str)) if overflowing else frame
        for column in overflowing:
            if _overflows(texts[column].dropna()):
                frame[column] = texts[column].astype(object)
    except pd.errors.EmptyDataError:
        raise InvalidSubmission(f"{name} has no columns: it is blank.") from None
    except UnicodeDecodeError:
        raise InvalidSubmission(f"{name} is not UTF-8 text.") from None
    except (ValueError, OverflowError, IndexError) as error:  # ParserError is a ValueError
        raise InvalidSubmission(f"{name} is not a CSV table: {_explain(error)}.") from None
    if frame.empty and not may_be_empty:
        raise InvalidSubmission(f"{name} has a header but no rows.")
    frame = frame.reset_index(drop=True)
    for column, kind in frame.dtypes.items():  # faster than `astype` of the frame, which rebuilds all of its columns
        if isinstance(kind, pd.StringDtype):
            frame[column] = frame[column].astype(object)
    return frame


def _read_csv(content: bytes, **options: Any) -> pd.DataFrame:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pd.errors.DtypeWarning)  # Mixed types are checked where they matter.
        frame: pd.DataFrame = pd.read_csv(io.BytesIO(content), **EXACT_FLOATS, **options)
    return frame


def _may_overflow(series: pd.Series) -> bool:
    """Return whether a column has numbers that pandas 2.2 may not have read as such: huge ones and infinity."""
    if series.dtype == object:
        return any(isinstance(value, int) and not isinstance(value, bool) for value in series)
    return series.dtype.kind == "f" and bool((series.abs() >= _INT64_LIMIT).any())


def _overflows(texts: pd.Series) -> bool:
    """Return whether pandas 2.2 keeps a column of numbers as text, which newer versions read as integers or infinity.

    It does if a float is too large, or if the first value that is not a 64-bit integer starts like a larger one.
    """
    for text in texts:
        digits = _INTEGER_START.match(text)
        if digits is None or digits.end() < len(text.rstrip()) or not -_INT64_LIMIT <= int(digits[0]) < _INT64_LIMIT:
            if digits is not None and not -_INT64_LIMIT <= int(digits[0]) < 2 * _INT64_LIMIT:
                return True
            break
    return any(math.isinf(_float(text)) and "inf" not in text.lower() for text in texts)


def _explain(error: Exception) -> str:
    text = str(error)
    if "fields in line" in text:
        return _ROW_TOO_LONG
    if "EOF inside string" in text:
        return "a quoted value does not end"
    return "its rows cannot be separated"


def _find_columns(frame: pd.DataFrame, task: Task, name: str) -> dict[str, str]:
    """Return for each column of the rules what it is called in the frame."""
    submission = task.submission
    header, columns = list(map(str, frame.columns)), list(submission.columns)
    keys = key_columns(submission)
    needed = keys if submission.by_id else [key for key in keys if key in header]
    if submission.by_position and submission.ignore_names:
        return _take_in_order(header, needed, columns, name)
    extra = submission.more_columns and not submission.by_position
    check_header(header, [*needed, *columns], name, extra=extra, order=submission.order)
    if submission.by_position:
        return dict(zip(columns, (column for column in header if column not in needed), strict=True))
    return {column: column for column in columns}


def _take_in_order(header: list[str], keys: list[str], columns: list[str], name: str) -> dict[str, str]:
    """Return for each column of the rules the one at its position, besides the keys."""
    check_header(header, keys, name, extra=True)
    own = [column for column in header if column not in keys]
    if len(own) != len(columns):
        raise InvalidSubmission(f"{name} has {len(own)} columns besides the id; {len(columns)} are needed.")
    return dict(zip(columns, own, strict=True))


class _IdPairing:
    """The ids of a submission and of its answers, None if they do not matter, and how many rows each side has."""

    def __init__(
        self, ids: pd.Series | None, expected: pd.Series | None, count: int, expected_count: int, name: str
    ) -> None:
        empty = pd.Series(dtype=object)
        self.by_id = ids is not None and expected is not None
        self.ids = empty if ids is None else ids
        self.expected = empty if expected is None else expected
        self.count, self.expected_count = count, expected_count
        self.name = name

    def check_counts(self) -> None:
        """Refuse another number of rows than the answers have."""
        if self.count != self.expected_count:
            raise InvalidSubmission(f"{self.name} has {self.count:,} rows; {self.expected_count:,} are needed.")

    def join(self, *, complete: bool) -> Pairs:
        """Pair each row with the answer that has its id; ids must be known and, if `complete`, none may be missing."""
        known = pd.Index(self.expected.drop_duplicates())
        positions = known.get_indexer(pd.Index(self.ids))
        incomplete = complete and len(np.unique(positions[positions >= 0])) < len(known)
        if (positions < 0).any() or self.ids.isna().any() or incomplete:
            raise InvalidSubmission(self.explain_difference())
        first = np.flatnonzero(~self.expected.duplicated().to_numpy())
        return first[positions], np.arange(len(self.ids))

    def refuse_repeated(self, rows: Indexes) -> None:
        """Refuse rows that share an answer, unless all of them do."""
        if 1 < len(np.unique(rows)) < len(rows):
            # No ids in the message: they would reveal which ids count.
            raise InvalidSubmission(f"{self.name} repeats ids of column {str(self.ids.name)!r}.")

    def pair_known(self) -> Pairs:
        """Sort both sides without the rows of unknown ids, and pair them as far as both go."""
        if not self.expected.isin(self.ids).all():
            raise InvalidSubmission(self.explain_difference(unknown=False))
        kept = np.flatnonzero(self.ids.isin(self.expected).to_numpy())
        positions, rows = kept[_sort(self.ids.iloc[kept], self.name)], self.sort_expected()
        return rows[: len(positions)], positions[: len(rows)]

    def pair_scored(self, skipped: NDArray[np.bool_]) -> Pairs:
        """Sort both sides without the rows whose own id does not count, and pair them in that order."""
        own = np.empty(len(self.ids), bool)
        rows, positions = self.join(complete=False)
        own[positions] = skipped[rows]
        place_order, row_order = _sort(self.ids, self.name), self.sort_expected()
        place_order, row_order = place_order[~own[place_order]], row_order[~skipped[row_order]]
        if len(place_order) != len(row_order):
            # No counts in the message: they would reveal which ids count.
            repeated = f"{self.name} repeats ids of column {str(self.ids.name)!r}"
            raise InvalidSubmission(f"{repeated}, so that it has another number of rows that count.")
        return row_order, place_order

    def sort_expected(self, *, stable: bool = False) -> Indexes:
        """Return the order in which pandas sorts the answers."""
        return _sort(self.expected, "the answers file", stable=stable)

    def explain_difference(self, *, unknown: bool = True) -> str:
        """Say in one sentence how the submitted ids differ from the expected ones."""
        ids, expected, name = self.ids, self.expected, self.name
        column = str(expected.name)
        if ids.isna().any():
            return f"{name} has no {column} in row {int(ids.isna().to_numpy().argmax()) + 1}."
        strange, missing = ids[~ids.isin(expected)].unique(), expected[~expected.isin(ids)].unique()
        if unknown and len(strange):
            return f"{name} has unknown {column} {quote_some(strange.tolist())}."
        if len(missing):
            return f"{name} is missing {column} {quote_some(missing.tolist())}."
        surplus = ids.value_counts().sub(expected.value_counts(), fill_value=0)
        more = surplus[surplus > 0].index.tolist()
        return f"{name} has {column} {quote_some(more)} more often than needed." if more else f"{name} has other ids."


def _match_rows(pairing: _IdPairing, policy: Ids, skipped: NDArray[np.bool_] | None) -> Pairs:
    """Return the answers that count, ascending, each with its row; `skipped` are those that do not count.

    Ids are what pandas made of them, so 7 is 7.0. Where ids repeat, the order in which pandas happens to sort counts.
    """
    rows, positions = _pair(pairing, policy, skipped)
    if skipped is not None:
        kept = ~skipped[rows]
        rows, positions = rows[kept], positions[kept]
        if policy == "subset":
            pairing.refuse_repeated(rows)
        elif not len(rows):
            raise InvalidSubmission(f"{pairing.name} has no row that counts.")
    order = np.argsort(rows, kind="stable")
    return rows[order], positions[order]


def _pair(pairing: _IdPairing, policy: Ids, skipped: NDArray[np.bool_] | None) -> Pairs:
    if not pairing.by_id or policy in ("positional", "positional_prefix"):
        if policy != "positional_prefix":
            pairing.check_counts()
        count = min(pairing.count, pairing.expected_count)
        return np.arange(count), np.arange(count)
    if policy in ("join", "subset"):
        return pairing.join(complete=policy == "join")
    if policy == "superset":
        return pairing.pair_known()
    pairing.check_counts()
    if policy == "ids_subset_sorted" and skipped is not None:
        return pairing.pair_scored(skipped)
    if policy in ("ids_subset_sorted", "ids_equal_sorted"):
        pairing.join(complete=policy == "ids_equal_sorted")
    stable = policy == "nth_occurrence"
    positions, rows = _sort(pairing.ids, pairing.name, stable=stable), pairing.sort_expected(stable=stable)
    if policy in ("one_to_one", "nth_occurrence"):
        equal = np.asarray(pairing.ids.to_numpy()[positions] == pairing.expected.to_numpy()[rows])
        if not np.all(equal):
            raise InvalidSubmission(pairing.explain_difference())
    return rows, positions


def _sort(ids: pd.Series, name: str, *, stable: bool = False) -> Indexes:
    """Return the order in which pandas sorts; not stable by default, so that equal ids may change places."""
    frame = ids.reset_index(drop=True).to_frame("id")
    try:
        order: Indexes = frame.sort_values("id", kind="stable" if stable else "quicksort").index.to_numpy()
    except TypeError:
        raise InvalidSubmission(f"{name}: column {str(ids.name)!r} mixes numbers and text.") from None
    return order


def _convert(
    series: pd.Series, column: str, rule: Column, truth: pd.Series, name: str, name_row: NameRow
) -> NDArray[Any]:
    """Return the typed values of a column; `InvalidSubmission` names the first that breaks the rule.

    `truth` is the same column of the answers: classes must be of the same kind as there.
    """
    must = describe_rule(rule)
    if rule.type == "number":
        values, valid = _convert_numbers(series, rule)
    elif rule.type == "integer":
        values, valid = _convert_integers(series, rule)
    elif rule.type == "text":
        values, valid = _convert_texts(series, rule)
        must = "text"
    else:
        values, valid, must = _convert_classes(series, rule, truth)
    _refuse_invalid(series, column, valid, must, name, name_row)
    return values


def _refuse_invalid(
    series: pd.Series, column: str, valid: NDArray[np.bool_], must: str, name: str, name_row: NameRow
) -> None:
    if not valid.all():
        values = series.where(series.notna(), "")
        refuse_value(column, valid, lambda row: values.iloc[row], must, name, name_row)


def _convert_numbers(series: pd.Series, rule: Column) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    # Text cannot be compared with bounds, which comes first; without them scikit-learn or `astype` converts it.
    if series.dtype == object and rule.python_numbers:  # compared one by one, which only text refuses
        values = np.array([_float(None if isinstance(value, str) else value) for value in series.tolist()], np.float64)
    elif series.dtype == object and rule.max is None:
        values = np.array([_float(value) for value in series.tolist()], np.float64)
    else:
        values = pd.to_numeric(series, errors="coerce").to_numpy(np.float64)
        if series.dtype == object:  # pandas keeps integers of more than 64 bits as text
            values = np.where(np.abs(values) >= 2 * _INT64_LIMIT, np.nan, values)
    missing = series.isna().to_numpy()
    if rule.only_numbers and not pd.api.types.is_numeric_dtype(series.dtype):
        return values, np.zeros(len(values), bool)
    if rule.no_booleans and series.dtype == bool:
        return values, np.zeros(len(values), bool)
    if rule.missing == "refuse":
        return values, np.isfinite(values) & within_bounds(values, rule)
    if rule.missing != "keep":
        values = np.where(missing, float(rule.missing), values)
    return values, missing | (~np.isnan(values) & within_bounds(values, rule))


def _float(value: Any) -> float:
    try:
        return float(value)
    except (ValueError, TypeError, OverflowError):
        return float("nan")


def _convert_integers(series: pd.Series, rule: Column) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    integers, valid = [], []
    for value in _fill(series, rule).tolist():
        try:
            integers.append(int(value))
            valid.append(True)
        except (ValueError, TypeError, OverflowError):
            integers.append(0)
            valid.append(False)
    values = np.array(integers)
    if values.dtype.kind in "Of":  # scikit-learn does not compare integers of more than 64 bits, or of 64 with signs
        valid = [known and abs(value) < _INT64_LIMIT for known, value in zip(valid, integers, strict=True)]
        values = np.where(valid, values, 0).astype(np.int64)
    return values, np.array(valid, bool) & within_bounds(values, rule)


def _convert_texts(series: pd.Series, rule: Column) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    if rule.codec is not None and rule.codec.name == "integers" and series.dtype == bool:
        series = series.astype(int)  # a boolean is an integer in Python
    filled = _fill(series, rule).tolist()
    valid = np.ones(len(filled), bool)
    if rule.missing == "refuse":
        valid &= series.notna().to_numpy()
    if rule.only_text:
        valid &= np.fromiter((isinstance(value, str) for value in filled), bool, len(filled))
        # "nan" is how numpy writes a missing value next to text; a column that holds no text at all stays numeric.
        if rule.missing == "nan" and series.isna().all():
            valid[:] = False
    values = np.empty(len(filled), object)
    values[:] = [str(value) for value in filled]
    return values, valid


def _convert_classes(series: pd.Series, rule: Column, truth: pd.Series) -> tuple[NDArray[Any], NDArray[np.bool_], str]:
    """Return the classes, which of them scikit-learn accepts, and what it accepts, in words."""
    values, true = (_fill(side, rule).to_numpy() for side in (series, truth))
    if values.dtype.kind == "O" and rule.missing not in ("refuse", "keep"):
        values = np.array([str(value) for value in values], object)  # numpy writes numbers next to text as text
    if values.dtype.kind == "O":
        valid, must = np.fromiter((isinstance(value, str) for value in values), bool, len(values)), "text"
    elif values.dtype.kind == "f":
        in_64_bits = (values >= -_INT64_LIMIT) & (values < _INT64_LIMIT)  # scikit-learn converts them
        valid, must = in_64_bits & (values == np.floor(values)), "integers"
    else:
        valid, must = np.ones(len(values), bool), "integers"
    if (values.dtype.kind == "O") != (true.dtype.kind == "O"):
        must = "text, as the answers do" if true.dtype.kind == "O" else "integers or booleans only, as in the answers"
        # Two classes on both sides are sorted together, which fails; of more, all are wrong.
        comparable = rule.other_kinds and max(series.nunique(), truth.nunique()) > 2
        valid &= comparable
    return values, valid, must


def _fill(series: pd.Series, rule: Column) -> pd.Series:
    """Replace missing values as the rule says, which may turn numbers into a mix of types."""
    if rule.missing in ("refuse", "keep"):
        return series
    missing = series.isna()
    return series.astype(object).mask(missing, rule.missing) if missing.any() else series
