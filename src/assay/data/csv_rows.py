"""CSV files whose rows are moved as bytes, where pandas would parse every value and print it again.

Most cells leave `read_csv` and `to_csv` as they came. `scan` finds out which do not: a regular expression built from
the types of the columns matches the rows that pandas would not change, a block of the file at a time. Only the other
rows are parsed, and a column that pandas may read in another way than expected here is read by pandas; so is a whole
file whose rows cannot be told apart with certainty, because of stray quotes, blank or ragged lines.
"""

import csv
import io
import mmap
import os
import re
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, Literal, overload

import numpy as np
import pandas as pd
import polars as pl
from numpy.typing import NDArray
from pandas._libs.parsers import STR_NA_VALUES  # type: ignore[import-not-found]

from assay.core.progress import stage
from assay.core.quantities import format_size

Bytes = NDArray[np.uint8]
Text = bytes | memoryview
Rows = NDArray[np.intp]
Value = str | int | float | bool
Kind = Literal["int", "float", "bool", "text", "pandas"]

_MAX_BUCKETS = 255
_PART = 2**18  # bytes that are copied at once
_GUESSED_ROWS = 1000
_PROBED_ROWS = 50
_LINE_FEED, _QUOTE = b'\n"'

_UNQUOTED = r'[^,"\r\n]*'
_QUOTED = '"(?:[^"]|"")*"'
_ROW = f"^(?:{_UNQUOTED}|{_QUOTED})(?:,(?:{_UNQUOTED}|{_QUOTED}))*$"
_NUMBER = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"
_ODD_INTEGER = r"^(?:[+-]?[0-9]{19,}|-0+)$"  # whose type or sign depends on the other cells
_MISSING = sorted(STR_NA_VALUES - {""})
_BOOLEANS = {"True": "True", "TRUE": "True", "true": "True", "False": "False", "FALSE": "False", "false": "False"}
_WORD = re.compile(r"[^0-9+\-.eE\s]")
_NO_WORD = re.compile(rf"\s*[+-]?(?:inf|infinity|nan)\s*|{'|'.join(_BOOLEANS)}", re.IGNORECASE)


def _exclude(words: Iterable[str]) -> str:
    """Return a pattern for an unquoted cell that is none of these words."""
    tails: dict[str, list[str]] = {}
    for word in words:
        tails.setdefault(word[:1], []).append(word[1:])
    ends = [] if tails.pop("", None) else [""]
    others = f'[^{"".join(map(re.escape, tails))},"\\r\\n]{_UNQUOTED}'
    return f"(?:{'|'.join([others, *(re.escape(first) + _exclude(rest) for first, rest in tails.items()), *ends])})"


_PATTERNS: dict[Kind, str] = {
    "int": "(?:0|-?[1-9][0-9]{0,17})",
    # With at most 15 digits no shorter text has the same value; small and large numbers are printed with an exponent.
    "float": r"(?:-?(?:(?:0|[1-9][0-9]{0,7})\.0|[1-9][0-9]{0,2}\.[0-9]{0,11}[1-9]|[1-9][0-9]{3,7}\.[0-9]{0,6}[1-9]"
    r"|0\.0{0,3}[1-9](?:[0-9]{0,10}[1-9])?)|)",
    "bool": "(?:True|False)",
    "text": rf'(?:{_exclude(_MISSING)}|"(?:[^",\n]|"")*(?:,|\n|"")(?:[^"]|"")*")',
}
"""What pandas writes as it is, by the kind of a column."""

_KINDS: dict[str, Kind] = {"i": "int", "f": "float", "b": "bool"}
_TYPES = {"int": np.int64, "float": np.float64, "bool": np.bool_, "text": str}
_NEXT_KIND: dict[Kind, Kind] = {"int": "float", "float": "text", "bool": "text", "text": "pandas"}
"""What a column is tried as if a cell does not fit."""


@dataclass(frozen=True)
class Limits:
    """How much is in memory at a time, in bytes."""

    block: int = 2**20  # of a file that is read from its start to its end
    mapped: int = 2**30  # of a file whose rows are accessed in any order
    bucket: int = 2**28  # of the parts that a larger file is divided into


class _IrregularFileError(Exception):
    """A file whose rows only pandas can tell apart."""


class _UnfitError(Exception):
    """A column has a cell that its kind does not allow."""

    def __init__(self, column: int) -> None:
        self.column = column


@dataclass(frozen=True)
class RowTable:
    """Rows and columns of a scanned file, with the methods of a data frame that a split needs."""

    source: "_Source | pd.DataFrame"
    rows: Rows | None = None
    names: tuple[str, ...] = ()
    assigned: Mapping[str, Value | range] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.source) if self.rows is None else len(self.rows)

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self.names)

    def take(self, rows: Rows) -> "RowTable":
        """Return these rows, in this order."""
        if any(isinstance(value, range) for value in self.assigned.values()):
            raise ValueError("rows are taken before they are numbered")
        return replace(self, rows=np.asarray(rows) if self.rows is None else self.rows[rows])

    def drop(self, *, columns: str | Iterable[str]) -> "RowTable":
        """Return the table without these columns."""
        dropped = {columns} if isinstance(columns, str) else set(columns)
        if dropped - set(self.names):
            raise KeyError(f"{sorted(dropped - set(self.names))} not found in axis")
        return replace(self, names=tuple(name for name in self.names if name not in dropped))

    def reset_index(self, *, drop: Literal[True]) -> "RowTable":
        """Return the table itself: its rows have no labels."""
        del drop
        return self

    def assign(self, **values: Value | range) -> "RowTable":
        """Return the table with constants, or numbers for its rows, in existing or new columns."""
        added = tuple(name for name in values if name not in self.names)
        return replace(self, names=self.names + added, assigned={**self.assigned, **values})

    @overload
    def __getitem__(self, name: str) -> "pd.Series[Any]": ...
    @overload
    def __getitem__(self, name: list[str]) -> "RowTable": ...
    def __getitem__(self, name: str | list[str]) -> "pd.Series[Any] | RowTable":
        """Return the values of a column as pandas reads it, or the table with these columns only, in this order."""
        if (
            missing := {name, *self.assigned} - set(self.names)
            if isinstance(name, str)
            else set(name) - set(self.names)
        ):
            raise KeyError(f"{sorted(missing)} not in index")
        if isinstance(name, list):
            return replace(self, names=tuple(name))
        column = self.source[name]
        return column if self.rows is None else column.take(self.rows).reset_index(drop=True)

    def to_frame(self) -> pd.DataFrame:
        """Return the table as pandas would have it, with the types that it infers from the whole file."""
        if isinstance(self.source, pd.DataFrame):
            frame = self.source if self.rows is None else self.source.take(self.rows).reset_index(drop=True)
        else:
            frame = self.source.read_frame(self.rows)
        return frame.assign(**self.assigned)[self.columns]

    def to_csv(self, path: Path, *, index: Literal[False] = False) -> None:
        """Write the rows as pandas does."""
        if isinstance(self.source, pd.DataFrame):
            self.to_frame().to_csv(path, index=index)
            return
        is_whole = self.names == self.source.names and not self.assigned
        with path.open("wb") as file, stage(f"Writing {path.name}", len(self)) as advance:
            file.write(_print_header(self.names))
            start = 0
            for content, count in self.source.read_rows(self.rows):
                file.write(content if is_whole else self._select(self.source.names, content, start))
                start += count
                advance(count)

    def _select(self, names: Sequence[str], content: Text, start: int) -> bytes:
        """Return the selected columns of some rows, the first of which has the number `start` in this table."""
        cells = _parse(bytes(content), len(names))
        columns = dict(zip(names, cells, strict=True))
        for name, value in self.assigned.items():
            if isinstance(value, range):
                columns[name] = pl.Series(value[start : start + cells.height]).cast(pl.String)
            else:
                columns[name] = pl.Series([_print_value(value)]).new_from_index(0, cells.height)
        return _print([columns[name] for name in self.names])


def scan(
    path: Path,
    scratch: Path,
    read: Callable[..., pd.DataFrame],
    *,
    texts: Collection[str] = (),
    limits: Limits = Limits(),
) -> RowTable:
    """Return the table of a file, all rows of it in the form that pandas would give them.

    Args:
        path: A CSV file.
        scratch: A folder for temporary files without a name.
        read: Reads a file, or as much of it as its options say, with pandas.
        texts: Columns that are text whatever they hold.
        limits: How much may be in memory at a time.
    """
    try:
        return _scan_rows(path, scratch, partial(read, dtype=dict.fromkeys(texts, str)), texts, limits)
    except _IrregularFileError:
        frame = read(path, dtype=dict.fromkeys(texts, str))
        return RowTable(frame, names=tuple(frame.columns))


def _scan_rows(
    path: Path, scratch: Path, read: Callable[..., pd.DataFrame], texts: Collection[str], limits: Limits
) -> RowTable:
    head = read(path, nrows=_GUESSED_ROWS)
    names = tuple(map(str, head.columns))
    if not isinstance(head.index, pd.RangeIndex) or len(head) == 0 or len(names) < 2:
        raise _IrregularFileError
    kinds: dict[str, Kind] = {str(name): _KINDS.get(head[name].dtype.kind, "text") for name in head.columns}

    @cache
    def read_column(name: str) -> "pd.Series[Any]":
        return read(path, usecols=[name])[name]

    while True:
        try:
            source = _Scan(path, scratch, limits, kinds, texts, read, read_column).run()
        except _UnfitError as error:
            column = names[error.column]
            kinds[column] = _NEXT_KIND[kinds[column]]
        else:
            return RowTable(source, names=names)


@dataclass(frozen=True)
class _Source:
    """A file in the form that pandas would give it: the raw one, or a temporary one."""

    file: IO[bytes]
    start: int  # of the first row
    count: int
    kinds: Mapping[str, Kind]
    scratch: Path
    limits: Limits
    read: Callable[..., pd.DataFrame]
    read_column: Callable[[str], "pd.Series[Any]"]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.kinds)

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, name: str) -> "pd.Series[Any]":
        return self.read_column(name)

    def read_rows(self, rows: Rows | None) -> Iterator[tuple[Text, int]]:
        """Yield rows as CSV text in parts, each with the number of its rows; by default all in their order."""
        if rows is None:
            yield from ((content.data, len(ends)) for content, ends in self._read_blocks())
        elif self._size <= self.limits.mapped:
            yield from _gather(self._content, *_bounds(self._starts, rows))
        elif (np.diff(rows) > 0).all():
            yield from self._filter(rows)
        else:
            yield from self._shuffle(rows)

    def read_frame(self, rows: Rows | None) -> pd.DataFrame:
        """Return rows with the types that pandas infers from the whole file."""
        content = io.BytesIO(_print_header(self.names))
        content.seek(0, io.SEEK_END)
        for part, _ in self.read_rows(rows):
            content.write(part)
        content.seek(0)
        types = {name: _TYPES[kind] for name, kind in self.kinds.items() if kind != "pandas"}
        frame = self.read(content, dtype=types)
        for name in self.kinds.keys() - types.keys():
            column = self[name]
            frame[name] = column if rows is None else column.take(rows).to_numpy()
        return frame

    @cached_property
    def _size(self) -> int:
        return os.fstat(self.file.fileno()).st_size - self.start

    @cached_property
    def _content(self) -> Bytes:
        return _map(self.file)[self.start :]

    @cached_property
    def _starts(self) -> Rows:
        return _row_starts(_find_row_ends(self._content))

    def _read_blocks(self) -> Iterator[tuple[Bytes, Rows]]:
        """Yield blocks of whole rows, with the end of each row."""
        for block in _read_blocks(self.file, self.start, self.limits.block):
            content = np.frombuffer(block, np.uint8)
            yield content, _find_row_ends(content)

    def _filter(self, rows: Rows) -> Iterator[tuple[Text, int]]:
        """Yield rows in the order of the file."""
        first = 0
        for content, ends in self._read_blocks():
            low, high = np.searchsorted(rows, (first, first + len(ends)))
            yield from _gather(content, *_bounds(_row_starts(ends), rows[low:high] - first))
            first += len(ends)

    def _shuffle(self, rows: Rows) -> Iterator[tuple[Text, int]]:
        """Yield rows in any order: distribute them to files in the order of the source, then shuffle each file."""
        per_bucket = -(-len(rows) // min(_MAX_BUCKETS, -(-self._size // self.limits.bucket)))
        parts = [rows[start : start + per_bucket] for start in range(0, len(rows), per_bucket)]
        buckets = np.full(self.count, len(parts), np.uint8)
        for number, part in enumerate(parts):
            buckets[part] = number
        if np.count_nonzero(buckets < len(parts)) < len(rows):
            raise ValueError("a row is taken twice")
        with ExitStack() as stack:
            files = [stack.enter_context(TemporaryFile(dir=self.scratch)) for _ in parts]
            first = 0
            for content, ends in self._read_blocks():
                chosen = buckets[first : first + len(ends)]
                order = np.argsort(chosen, kind="stable")
                bounds = np.searchsorted(chosen[order], np.arange(len(parts) + 1))
                starts = _row_starts(ends)
                for file, low, high in zip(files, bounds[:-1], bounds[1:], strict=True):
                    for text, _ in _gather(content, *_bounds(starts, order[low:high])):
                        file.write(text)
                first += len(ends)
            del buckets
            for file, part in zip(files, parts, strict=True):
                file.flush()
                content = _map(file)
                positions = np.empty(len(part), np.intp)
                positions[np.argsort(part)] = np.arange(len(part))
                yield from _gather(content, *_bounds(_row_starts(_find_row_ends(content)), positions))
                del content
                file.close()


class _Scan:
    """One pass over a file, under the assumption that each column is of a kind."""

    def __init__(
        self,
        path: Path,
        scratch: Path,
        limits: Limits,
        kinds: Mapping[str, Kind],
        texts: Collection[str],
        read: Callable[..., pd.DataFrame],
        read_column: Callable[[str], "pd.Series[Any]"],
    ) -> None:
        self._path, self._scratch, self._limits, self._kinds = path, scratch, limits, dict(kinds)
        self._read, self._read_column, self._width = read, read_column, len(kinds)
        self._by_pandas = {name: _print_column(read_column(name)) for name, kind in kinds.items() if kind == "pandas"}
        pattern = ",".join(_PATTERNS[kind] for kind in kinds.values() if kind != "pandas")
        self._pattern = None if self._by_pandas else _check_pattern(pattern)
        self._texts = [
            column for column, (name, kind) in enumerate(kinds.items()) if kind == "text" and name not in texts
        ]
        # pandas infers types for so many rows at a time; see its TextReader.
        self._inferred_rows = 2 ** max(0, (2**20 // self._width - 1).bit_length() - 1)
        self._changes = False  # whether the last block had rows to change
        self._unproven: dict[int, set[int]] = {}  # by number of the portion: columns without a word so far
        self._suspects: dict[int, set[int]] = {}  # ... columns with a cell that may be a number, a boolean or missing

    def run(self) -> _Source:
        """Read the whole file; raises `_UnfitError` for a column that is not of its kind."""
        with ExitStack() as files:
            raw = files.enter_context(self._path.open("rb", buffering=0))
            changed = files.enter_context(TemporaryFile(dir=self._scratch))
            is_changed = False
            start = offset = count = 0
            size = os.fstat(raw.fileno()).st_size
            with stage(f"Reading {self._path.name}, {format_size(size)}", size) as advance:
                for block in _read_blocks(raw, 0, self._limits.block):
                    rows = block
                    if not offset:
                        start = offset = int(_find_row_ends(np.frombuffer(block, np.uint8))[0])
                        self._check_header(block[:start])
                        rows = block[start:]
                    content, added = self._normalize(rows, count)
                    has_added_end = offset + len(rows) > size
                    if not is_changed and (content is not rows or has_added_end):
                        is_changed = True
                        _copy_bytes(raw, start, offset, changed)
                    if is_changed:
                        changed.write(content)
                    offset += len(rows)
                    count += added
                    advance(len(block))
            for portion, columns in self._unproven.items():
                if unfit := columns & self._suspects[portion]:
                    raise _UnfitError(min(unfit))
            changed.flush()
            file, start = (changed, 0) if is_changed else (raw, start)
            source = _Source(
                file, start, count, self._kinds, self._scratch, self._limits, self._read, self._read_column
            )
            weakref.finalize(source, files.pop_all().close)
            return source

    def _check_header(self, line: bytes) -> None:
        """Raise `_IrregularFileError` unless the first line has the names of the columns as pandas sees them."""
        try:
            cells = next(csv.reader([line.decode()]))
        except UnicodeDecodeError:
            raise _IrregularFileError from None
        if [cell or f"Unnamed: {number}" for number, cell in enumerate(cells)] != list(self._kinds):
            raise _IrregularFileError

    def _normalize(self, block: bytes, first: int) -> tuple[Text, int]:
        """Return rows as pandas writes them, the block itself if nothing changes, and their number."""
        if not block:
            return block, 0
        rows = block
        if b"\r" in rows:
            rows = rows.replace(b"\r\n", b"\n")
            if b"\r" in rows or b'"' in rows:
                raise _IrregularFileError
        try:
            text = rows.decode()
        except UnicodeDecodeError:
            raise _IrregularFileError from None
        if b"\0" in rows:
            raise _IrregularFileError
        content = np.frombuffer(rows, np.uint8)
        starts = _row_starts(_find_row_ends(content))
        count = len(starts) - 1
        self._prove_text(content, starts, first)
        # Where a block had rows to change, the next one probably has, too; then looking at it as a whole is wasted.
        is_tried = self._pattern is not None and not self._changes
        self._changes = is_tried and not pl.Series([text]).str.contains(rf"\A(?:{self._pattern}\n)*\z")[0]
        if is_tried and not self._changes:
            return rows, count
        lines = _split(text, rows, starts)
        unchanged = (
            lines.str.contains(f"^(?:{self._pattern})$").to_numpy() if self._pattern else np.zeros(count, np.bool_)
        )
        changed = np.flatnonzero(~unchanged)
        self._changes = len(changed) > 0
        if not len(changed):
            return rows, count
        lines = lines.gather(changed)
        commas = lines.str.replace_all(_QUOTED, "").str.count_matches(",", literal=True)
        if not lines.str.contains(_ROW).all() or not (commas == self._width - 1).all():
            raise _IrregularFileError
        printed = self._print_rows(lines, first + changed)
        joined = np.concatenate([content, np.frombuffer(printed, np.uint8)])
        ends = starts[1:].copy()
        begins = starts[:-1].copy()
        new = _row_starts(_find_row_ends(joined[len(content) :])) + len(content)
        begins[changed], ends[changed] = new[:-1], new[1:]
        return b"".join(part for part, _ in _gather(joined, begins, ends)), count

    def _print_rows(self, lines: pl.Series, numbers: Rows) -> bytes:
        cells = _parse("".join(line + "\n" for line in lines.to_list()).encode(), self._width)
        if cells.height != len(numbers):
            raise _IrregularFileError
        columns: list[pl.Series] = []
        for column, (name, kind) in enumerate(self._kinds.items()):
            if kind == "pandas":
                columns.append(self._by_pandas[name].gather(numbers))
                continue
            printed = _PRINT[kind](cells.to_series(column))
            if printed is None:
                raise _UnfitError(column)
            columns.append(printed)
        return _print(columns)

    def _prove_text(self, content: Bytes, starts: Rows, first: int) -> None:
        """Find a word in each column of text, in every portion of rows that pandas infers types from.

        Without one, pandas reads the cells of that portion as numbers or booleans, whatever the others hold.
        """
        count = len(starts) - 1
        for portion in range(first // self._inferred_rows, (first + count - 1) // self._inferred_rows + 1):
            low = max(portion * self._inferred_rows - first, 0)
            high = min((portion + 1) * self._inferred_rows - first, count)
            unproven = self._unproven.setdefault(portion, set(self._texts))
            suspects = self._suspects.setdefault(portion, set())
            for begin, end in ((low, min(low + _PROBED_ROWS, high)), (min(low + _PROBED_ROWS, high), high)):
                if not unproven or begin == end:
                    continue
                cells = _parse(content[starts[begin] : starts[end]].tobytes(), self._width)
                for column in list(unproven):
                    present = _print_text(cells.to_series(column)).drop_nulls().to_list()
                    if any(_WORD.search(cell) and not _NO_WORD.fullmatch(cell) for cell in present):
                        unproven.discard(column)
                    elif present:
                        suspects.add(column)


def _check_pattern(pattern: str) -> str | None:
    """Return a pattern, or None if it is too large to be compiled."""
    try:
        pl.Series([""]).str.contains(pattern)
    except pl.exceptions.ComputeError:
        return None
    return pattern


def _print_int(cells: pl.Series) -> pl.Series | None:
    if not cells.str.contains("^[+-]?[0-9]{1,18}$").fill_null(value=False).all():
        return None
    return cells.cast(pl.Int64).cast(pl.String)


def _print_float(cells: pl.Series) -> pl.Series | None:
    present = _print_text(cells)
    if not present.str.contains(_NUMBER).fill_null(value=True).all() or present.str.contains(_ODD_INTEGER).any():
        return None
    values = present.cast(pl.Float64)
    if values.is_infinite().any():
        return None
    printed = values.cast(pl.String)
    magnitude = values.abs()
    unusual = ((magnitude < 1e-4) & (magnitude > 0)) | (magnitude >= 1e16) | printed.str.contains("[^0-9.-]")
    rows = unusual.fill_null(value=False).arg_true()
    return printed.scatter(rows, [repr(value) for value in values.gather(rows)]) if len(rows) else printed


def _print_bool(cells: pl.Series) -> pl.Series | None:
    printed = cells.replace_strict(_BOOLEANS, default=None, return_dtype=pl.String)
    return None if printed.null_count() else printed


def _print_text(cells: pl.Series) -> pl.Series:
    return cells.set(cells.is_in(["", *_MISSING]), None)


_PRINT: dict[Kind, Callable[[pl.Series], pl.Series | None]] = {
    "int": _print_int,
    "float": _print_float,
    "bool": _print_bool,
    "text": _print_text,
}


def _print_column(column: "pd.Series[Any]") -> pl.Series:
    """Return the cells of a column as pandas writes them."""
    rows = csv.reader(io.StringIO(column.to_frame().to_csv(index=False, header=False), newline=""))
    return pl.Series([row[0] or None for row in rows], dtype=pl.String)


def _print_header(names: Sequence[str]) -> bytes:
    return str(pd.DataFrame(columns=list(names)).to_csv(index=False)).encode()


def _print_value(value: Value) -> str:
    return str(pd.DataFrame({"value": [value]}).to_csv(index=False, header=False)).removesuffix("\n")


def _parse(content: bytes, width: int) -> pl.DataFrame:
    """Return the cells of rows, as text; empty ones are null."""
    schema = {str(column): pl.String for column in range(width)}
    try:
        return pl.read_csv(content, has_header=False, schema=schema, infer_schema=False)
    except pl.exceptions.PolarsError:
        raise _IrregularFileError from None


def _print(columns: Sequence[pl.Series]) -> bytes:
    table = pl.DataFrame({str(number): column for number, column in enumerate(columns)})
    # As in Python's csv module, an empty cell has quotes if its row would be empty otherwise.
    return table.write_csv(include_header=False, null_value='""' if len(columns) == 1 else "").encode()


def _split(text: str, rows: bytes, starts: Rows) -> pl.Series:
    """Return rows one by one, without their line ends."""
    if b'"' not in rows:
        return pl.Series(text[:-1].split("\n"))
    return pl.Series([rows[start : end - 1].decode() for start, end in pairwise(starts.tolist())])


def _read_blocks(file: IO[bytes], start: int, size: int) -> Iterator[bytes]:
    """Yield a file from an offset on in blocks of whole rows; a missing last line end is added."""
    rest = b""
    while part := os.pread(file.fileno(), size, start):
        start += len(part)
        content = rest + part
        if b'"' in content:
            ends = _find_row_ends(np.frombuffer(content, np.uint8))
            end = int(ends[-1]) if len(ends) else 0
        else:
            end = content.rfind(b"\n") + 1
        rest = content[end:]
        if end:
            yield content[:end]
    if rest:
        if rest.count(b'"') % 2:
            raise _IrregularFileError
        yield rest + b"\n"


def _find_row_ends(content: Bytes) -> Rows:
    """Return where rows end, i.e. behind each line feed that is not within quotes."""
    ends: list[Rows] = [np.empty(0, np.intp)]
    is_quoted = 0
    for start in range(0, len(content), _PART):
        part = content[start : start + _PART]
        feeds = np.flatnonzero(part == _LINE_FEED)
        quotes = np.flatnonzero(part == _QUOTE)
        if len(quotes) or is_quoted:
            feeds = feeds[(np.searchsorted(quotes, feeds) + is_quoted) % 2 == 0]
            is_quoted = (is_quoted + len(quotes)) % 2
        ends.append(feeds + (start + 1))
    return np.concatenate(ends)


def _row_starts(ends: Rows) -> Rows:
    """Return where each row starts, and where the last one ends."""
    return np.concatenate([[0], ends])


def _bounds(starts: Rows, rows: Rows) -> tuple[Rows, Rows]:
    """Return where these rows start and end."""
    return starts[rows], starts[rows + 1]


def _gather(content: Bytes, starts: Rows, ends: Rows) -> Iterator[tuple[Text, int]]:
    """Yield the rows that start and end here one after the other, in parts, each with the number of its rows."""
    count = max(1, _PART * len(starts) // max(1, int((ends - starts).sum())))
    for begin in range(0, len(starts), count):
        part = slice(begin, begin + count)
        yield _join(content, starts[part], ends[part]), len(starts[part])


def _join(content: Bytes, starts: Rows, ends: Rows) -> Text:
    """Return rows one after the other.

    Rows of about the same length are copied by numpy with as many bytes as the longest has, which are cut afterwards.
    """
    sizes = ends - starts
    width = int(sizes.max())
    if width * len(starts) > 2 * int(sizes.sum()) or int(starts.max()) + width > len(content):
        view = content.data
        return b"".join([view[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)])
    windows = np.ndarray((len(content) - width + 1,), f"V{width}", content, strides=(1,))
    rows = windows[starts].view(np.uint8).reshape(len(starts), width)
    return rows[np.arange(width) < sizes[:, None]].data


def _map(file: IO[bytes]) -> Bytes:
    return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)


def _copy_bytes(source: IO[bytes], start: int, end: int, target: IO[bytes]) -> None:
    """Copy a part of a file, as far as the file reaches."""
    while part := os.pread(source.fileno(), min(_PART, end - start), start):
        target.write(part)
        start += len(part)
