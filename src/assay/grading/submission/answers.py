"""The hidden answers of a task, and a submission matched to them: the two sides that a metric compares.

Each parser reads answers in the same way as submissions, by a subclass of `Answers`. The checks that parsers have in
common are below.
"""

import dataclasses
import hashlib
import json
import os
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from mmap import mmap
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay import formats
from assay.core.disk import random_token
from assay.core.errors import InvalidSubmission, NotPrepared
from assay.core.text import quote, quote_some
from assay.tasks import Codec, Column, RowSum, Submission, Task, load_plugin

if TYPE_CHECKING:
    from assay.data.store import Prepared

FileContent = bytes | mmap
"""The bytes of a file, or a memory map that can be sliced and searched like them."""
NameRow = Callable[[int], str]
"""Names a row in a message, given its index among the values that are checked."""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
MAX_HEADER = 1 << 16
_CHUNK = 1 << 24
_SPARE_LINES = 10**6
_PARSERS: Mapping[str, Callable[..., object]] = {
    "mask": formats.parse_mask,
    "points": formats.parse_points,
    "rectangles": formats.parse_rectangles,
    "boxes": formats.parse_boxes,
    "boxes_3d": formats.parse_boxes_3d,
    "words": formats.parse_words,
    "integers": formats.parse_integers,
    "span": formats.parse_span,
}
_TYPE_NAMES = {
    "number": "a number",
    "integer": "an integer",
    "boolean": "true or false",
    "category": "a value",
    "text": "text",
}
_recalled: dict[tuple[type, Path, str], tuple[bytes, object]] = {}
"""The content of small answers files and what it was parsed to. Many submissions are graded against the same few."""
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Answers(ABC):
    """The hidden answers of a task in one edition, read on demand."""

    task: Task
    path: Path
    cache: Path | None = None
    min_cached_size: int = 1 << 20
    """Bytes of the smallest file that is cached on disk; smaller ones are kept in memory."""
    max_recalled_size: int = 16 << 20
    """Bytes of the files that are kept in memory."""

    @classmethod
    def of(cls, prepared: "Prepared") -> Self:
        """Return the answers of a prepared task."""
        return cls(prepared.task, prepared.private / prepared.task.data.answers, prepared.private.parent / "parsed")

    @abstractmethod
    def column(self, name: str) -> NDArray[Any]:
        """Return all values of a column that no rule describes."""

    @abstractmethod
    def true_column(self, name: str, rule: Column) -> NDArray[Any]:
        """Return all values of a column that submissions must predict; `name` is what the answers call it."""

    def scored(self) -> Iterator[tuple[str, Column]]:
        """Yield the columns of a submission that count, with their rules."""
        return ((name, rule) for name, rule in self.task.submission.columns.items() if rule.scored)

    def needed_columns(self) -> list[str]:
        """Return the columns of the answers that ids, rules, codecs or the metric refer to."""
        return list(self.task.answer_columns)

    def skipped(self) -> NDArray[np.bool_] | None:
        """Return which answers do not count; None if all do."""
        skip = self.task.submission.skip
        return None if skip is None else np.asarray(self.column(skip.column) == skip.value, dtype=bool)

    def read(self) -> bytes:
        """Return the answers as CSV."""
        try:
            return read_answers(self.task, self.path)
        except FileNotFoundError:
            raise NotPrepared(f"{self.task.id} has no answers at {self.path}; prepare it again") from None

    def damaged(self, reason: object) -> NotPrepared:
        """Return the error for answers that break the rules of their own task."""
        return NotPrepared(f"the answers of {self.task.id} are damaged; prepare it again ({reason})")

    def load_cached(self, key: Sequence[object], parse: Callable[[], pl.DataFrame]) -> pl.DataFrame:
        """Return the parsed answers file, from memory if it is small, or from a cache file, if it was parsed before.

        If nothing can be stored, e.g. on a read-only disk, large files are parsed each time.
        """
        if self._is_small or self.cache is None or not self.path.exists():
            return self.recall(key, parse)
        facts = self.path.stat()
        identity = [key, facts.st_size, facts.st_mtime_ns, facts.st_ino, pl.__version__]
        path = self.cache / f"{hashlib.sha256(json.dumps(identity).encode()).hexdigest()}.arrow"
        if path.exists():
            try:
                return pl.read_ipc(path, memory_map=True)
            except (OSError, pl.exceptions.PolarsError):
                path.unlink(missing_ok=True)
        table = parse()
        _store(table, path)
        return table

    @property
    def _is_small(self) -> bool:
        return self.path.is_file() and self.path.stat().st_size < self.min_cached_size

    def recall(self, key: Sequence[object], parse: Callable[[], T]) -> T:
        """Return what `parse` makes of the file; of a small one from memory, if its content was the same before."""
        if not self._is_small:
            return parse()
        content, cache_key = self.path.read_bytes(), (type(self), self.path, json.dumps(key))
        known, parsed = _recalled.get(cache_key, (None, None))
        if known != content:
            parsed = parse()
            if sum(len(known) for known, _ in _recalled.values()) > self.max_recalled_size:
                _recalled.clear()
            _recalled[cache_key] = content, parsed
        return cast(T, parsed)


def read_answers(task: Task, path: Path) -> bytes:
    """Return answers as CSV: the content of the file, or what the task's `answers.py` makes of it."""
    plugin = task.folder / "answers.py"
    if not plugin.is_file():
        return path.read_bytes()
    return pl.DataFrame(load_plugin(plugin).read_answers(path)).write_csv().encode()


def find_published(task: Task) -> Path | None:
    """Return the task's `published.py`, which reads submissions as only its published grader does, if it has one."""
    path = task.folder / "published.py"
    return path if path.is_file() else None


@dataclass(frozen=True)
class ParsedSubmission:
    """A valid submission: the typed values of its scored columns, in the order of the answers that they belong to.

    `rows` are the indexes of those answers, None for all of them, and `positions` the index of each row in the file,
    None if the order is the same. `submitted` are parameters of the metric that come from the submission.
    """

    answers: Answers
    columns: Mapping[str, NDArray[Any]]
    rows: NDArray[np.int64] | None = None
    positions: NDArray[np.signedinteger[Any]] | None = None
    submitted: Mapping[str, NDArray[Any]] = dataclasses.field(default_factory=dict)

    @property
    def values(self) -> NDArray[Any]:
        """The predictions as a metric takes them: one axis for one column, two for several."""
        return _stack(list(self.columns.values()))

    @property
    def truth(self) -> NDArray[Any]:
        """The true values of the same rows and columns."""
        try:
            return _stack([self._true(rule.answer or name, rule) for name, rule in self.answers.scored()])
        except InvalidSubmission as error:
            raise self.answers.damaged(error) from None

    @property
    def parameters(self) -> dict[str, NDArray[Any]]:
        """What the metric takes in addition to truth and predictions, for the same rows."""
        metric, parameters = self.answers.task.metric, dict(self.submitted)
        for key, names in metric.answers.items():
            parameters[key] = _stack([self._column(name) for name in ([names] if isinstance(names, str) else names)])
        if metric.positions:
            rows = len(next(iter(self.columns.values())))
            parameters[metric.positions] = np.arange(rows) if self.positions is None else self.positions
        return parameters

    @property
    def units(self) -> NDArray[Any] | None:
        """What each row was sampled in; None if rows were sampled one by one.

        Rows that share an id, or the part of their id that other columns complete, are a unit.
        """
        submission, unit = self.answers.task.submission, self.answers.task.metric.unit
        if unit is None and submission.by_id and (submission.id_with or submission.ids == "nth_occurrence"):
            unit = submission.id
        if unit is None:
            return None
        name, _, pattern = unit.partition(":")
        values = self._column(name)
        if not pattern:
            return values
        matches = pl.Series(values.astype(str) if values.dtype == object else values).cast(pl.String)
        return matches.str.extract(pattern).fill_null("").to_numpy()

    def finish(self, name: str, name_row: NameRow) -> Self:
        """Keep the scored columns, decode their cells and check the sums of rows; `name` is the file's, for messages.

        Raises `InvalidSubmission` where a cell or a sum breaks its rule.
        """
        submission = self.answers.task.submission
        columns = {key: values for key, values in self.columns.items() if submission.columns[key].scored}
        for key, values in columns.items():
            codec = submission.columns[key].codec
            if codec:
                cell = f"{name}, column {key!r}, "
                columns[key] = self._decode(values, codec, lambda row: cell + name_row(row))  # noqa: B023
        if submission.row_sum:
            _check_row_sums(columns, submission.row_sum, name, name_row)
        return dataclasses.replace(self, columns=columns)

    def drop_skipped(self) -> Self:
        """Leave out the rows whose answers do not count."""
        skipped = self.answers.skipped()
        if skipped is None:
            return self
        rows = np.arange(len(skipped)) if self.rows is None else self.rows
        positions = rows if self.positions is None else self.positions
        kept = ~skipped[rows]
        columns = {key: values[kept] for key, values in self.columns.items()}
        return dataclasses.replace(self, columns=columns, rows=rows[kept], positions=positions[kept])

    def _column(self, name: str) -> NDArray[Any]:
        values = self.answers.column(name)
        return values if self.rows is None else values[self.rows]

    def _true(self, name: str, rule: Column) -> NDArray[Any]:
        values = self.answers.true_column(name, rule)
        if self.rows is not None:
            values = values[self.rows]
        codec = rule.truth or rule.codec
        if codec is None:
            return values
        return self._decode(values, codec, lambda row: f"{self.answers.path.name}, row {row + 1}")

    def _decode(self, texts: Iterable[str], codec: Codec, name_cell: NameRow) -> NDArray[np.object_]:
        """Parse each text by the codec: masks, points and boxes become objects, the others are only checked."""
        parse = _PARSERS[codec.name]
        per_row = {key: self._column(name).astype(np.int64).tolist() for key, name in codec.answers.items()}
        objects = []
        for row, text in enumerate(texts):
            own = {key: values[row] for key, values in per_row.items()}
            objects.append(parse(text, where=name_cell(row), **codec.params, **own))
        result = np.empty(len(objects), object)
        result[:] = objects
        return result


def check_header(header: Sequence[str], columns: Sequence[str], name: str, *, extra: bool, order: str = "any") -> None:
    """Raise `InvalidSubmission` unless a table has `columns`, and no others unless `extra` columns are allowed.

    Their order is `any`, or the same (`exact`), or must begin with the same column (`id-first`).
    """
    needed = f"the columns must be {', '.join(columns)}"
    repeated = [column for column, times in Counter(header).items() if times > 1]
    if repeated:
        raise InvalidSubmission(f"{name} has column {quote_some(repeated)} more than once; {needed}.")
    missing = [column for column in columns if column not in set(header)]
    if missing:
        reason = f"it has {quote_some(header, 6)}" if any(header) else "its first line is blank"
        raise InvalidSubmission(f"{name} has no column {quote_some(missing)}: {reason}, but {needed}.")
    unknown = [column for column in header if column not in set(columns)]
    if unknown and not extra:
        raise InvalidSubmission(f"{name} has unknown column {quote_some(unknown)}; {needed}.")
    if order == "id-first" and header[0] != columns[0]:
        raise InvalidSubmission(f"{name} starts with column {quote(header[0])}; the first must be {quote(columns[0])}.")
    if order == "exact" and list(header) != list(columns):
        raise InvalidSubmission(f"{name} has its columns in another order; {needed}, in this order.")


def check_line_count(content: FileContent, columns: int, rows: int, name: str) -> None:
    """Raise `InvalidSubmission` for a table that would take far more memory than its file.

    Either it has many more lines than the `rows` that are needed, or its rows are much shorter than its header.
    """
    lines = count_lines(content)
    if lines > 10 * rows + _SPARE_LINES:
        raise InvalidSubmission(f"{name} has {lines:,} lines; {rows:,} rows are needed.")
    if is_ragged(content, columns, lines):
        raise InvalidSubmission(f"{name} is not a CSV table: its rows are much shorter than its first line.")


def is_ragged(content: FileContent, columns: int, lines: int) -> bool:
    """Return whether a table of so many columns and lines has far fewer bytes than values."""
    return columns * lines > 4 * len(content) + 10**6


def count_lines(content: FileContent) -> int:
    """Return the number of line ends."""
    count = 0
    for start in range(0, len(content), _CHUNK):
        chunk = np.frombuffer(content, np.uint8, min(_CHUNK, len(content) - start), start)
        count += int(np.count_nonzero(chunk == 10))  # line feed
        if content.find(b"\r", start, start + _CHUNK) >= 0:
            count += int(np.count_nonzero(chunk == 13))
    return count


def chunks(content: FileContent) -> Iterator[bytes]:
    """Yield the content in pieces of bytes that fit into memory."""
    return (content[start : start + _CHUNK] for start in range(0, len(content), _CHUNK))


def refuse_value(
    column: str, valid: NDArray[np.bool_], value: Callable[[int], object], must: str, name: str, name_row: NameRow
) -> NoReturn:
    """Raise `InvalidSubmission` for the first value that is not valid, with the number of others."""
    wrong = np.flatnonzero(~valid)
    first = int(wrong[0])
    text = str(value(first))
    content = "empty" if text == "" else quote(text)
    others = f", and {len(wrong) - 1:,} more are wrong" if len(wrong) > 1 else ""
    raise InvalidSubmission(
        f"{name}: column {column!r} must be {must}, but is {content} for {name_row(first)}{others}."
    )


def describe_rule(rule: Column) -> str:
    """Return what a column must be, in words."""
    if rule.values is not None:
        listed = ", ".join(map(str, rule.values[:12]))
        return f"one of {listed}" + (f" and {len(rule.values) - 12} more" if len(rule.values) > 12 else "")
    bounds = []
    if rule.min is not None:
        bounds.append(f"at least {_shortest(rule.min)}")
    if rule.max is not None:
        bounds.append(f"at most {_shortest(rule.max)}")
    return f"{_TYPE_NAMES[rule.type]} of {' and '.join(bounds)}" if bounds else _TYPE_NAMES[rule.type]


def within_bounds(values: NDArray[Any], rule: Column) -> NDArray[np.bool_]:
    """Return which values are within the bounds of the rule; NaN never is."""
    valid = np.ones(len(values), bool)
    if rule.min is not None:
        valid &= values >= rule.min
    if rule.max is not None:
        valid &= values <= rule.max
    return valid


def key_columns(submission: Submission) -> list[str]:
    """Return the columns that together identify a row."""
    return [submission.id, *submission.id_with] if submission.id else []


def _check_row_sums(columns: Mapping[str, NDArray[Any]], rule: RowSum, name: str, name_row: NameRow) -> None:
    # Column by column, as pandas adds. NaN is there only where a rule keeps missing values.
    sums = np.nansum(np.vstack(list(columns.values())), axis=0)
    compared = sums if rule.decimals is None else np.round(sums, rule.decimals)
    check_sums(sums, np.abs(compared - rule.to) <= rule.tolerance, rule.to, name, name_row)


def check_sums(sums: NDArray[Any], valid: NDArray[np.bool_], to: float, name: str, name_row: NameRow) -> None:
    """Raise `InvalidSubmission` unless all sums of rows are valid."""
    if not valid.all():
        wrong = np.flatnonzero(~valid)
        others = f", and those of {len(wrong) - 1:,} more rows are wrong" if len(wrong) > 1 else ""
        must = f"the values of a row must add up to {to:g}"
        raise InvalidSubmission(f"{name}: {must}, but are {sums[wrong[0]]:.8g} for {name_row(int(wrong[0]))}{others}.")


def _shortest(bound: float) -> str:
    """Return a bound in as few digits as distinguish it from its neighbors."""
    short = f"{bound:g}"
    return short if float(short) == bound else repr(bound)


def _stack(columns: list[NDArray[Any]]) -> NDArray[Any]:
    return columns[0] if len(columns) == 1 else np.column_stack(columns)


def _store(table: pl.DataFrame, path: Path) -> None:
    """Write a table atomically and for this user only, or not at all."""
    temporary = path.with_name(f".{path.name}.{random_token()}")
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            table.write_ipc(file)
        temporary.replace(path)
    except OSError:
        with suppress(OSError):
            temporary.unlink()
