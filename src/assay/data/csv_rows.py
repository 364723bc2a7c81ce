"""CSV files whose rows are moved as bytes, where pandas would parse every value and print it again.

Most cells leave `read_csv` and `to_csv` as they came. `scan` finds out which do not, a block of the file and a whole
column at a time. Only the other cells are parsed, and a column that pandas may read in another way than expected here
is read by pandas; so is a whole file whose rows cannot be told apart with certainty, because of stray quotes, blank or
ragged lines.
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
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any, Literal, NamedTuple, overload

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from assay.core.disk_space import check_space
from assay.core.progress import ByteCount, stage
from assay.data.csv_cells import (
    MISSING,
    Bytes,
    Cells,
    Edits,
    Flags,
    IrregularFileError,
    PlainKind,
    Rows,
    Sizes,
    Text,
    Texts,
    apply_edits,
    join,
    join_parts,
    split_cells,
)

if TYPE_CHECKING:
    import polars as pl  # loaded when needed, because that takes long

Value = str | int | float | bool
Kind = PlainKind | Literal["pandas"]

_MAX_BUCKETS = 255
_PART = 2**22  # bytes that are copied at once
_SHUFFLED_BLOCKS = 4  # that are distributed to buckets at once
_GUESSED_ROWS = 1000
_PROBED_ROWS = 50
_LINE_FEED, _QUOTE, _COMMA = b'\n",'

_NUMBER = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"
_ODD_INTEGER = r"^(?:[+-]?[0-9]{19,}|-0+)$"  # whose type or sign depends on the other cells
_NO_TEXT = frozenset({"", *MISSING})
_SPECIAL = frozenset(',"\r\n')
_BOOLEANS = {"True": "True", "TRUE": "True", "true": "True", "False": "False", "FALSE": "False", "false": "False"}
_USUAL_NUMBER, _INTEGER = map(re.compile, (f"(?!{_ODD_INTEGER}){_NUMBER}", "[+-]?[0-9]{1,18}"))
_WORD = re.compile(r"[^0-9+\-.eE\s]")
_NO_WORD = re.compile(rf"\s*[+-]?(?:inf|infinity|nan)\s*|{'|'.join(_BOOLEANS)}", re.IGNORECASE)

_KINDS: dict[str, Kind] = {"i": "int", "f": "float", "b": "bool"}
_TYPES = {"int": np.int64, "float": np.float64, "bool": np.bool_, "text": str}
_NEXT_KIND: dict[Kind, Kind] = {"int": "float", "float": "text", "bool": "text", "text": "pandas"}
"""What a column is tried as if a cell does not fit."""


@dataclass(frozen=True)
class Limits:
    """How much is in memory at a time, in bytes."""

    block: int = 2**21  # of a file that is read from its start to its end
    mapped: int = 2**30  # of a file whose rows are accessed in any order
    bucket: int = 2**27  # of the parts that a larger file is divided into
    few: int = 1000  # cells that are parsed one by one, because it takes longer to call polars


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
        size = self.source.size_of(self.rows)
        with path.open("wb") as file, stage(f"Writing {path.name}", ByteCount(size)) as advance:
            file.write(_print_header(self.names))
            start = 0
            for content, count in self.source.read_rows(self.rows):
                file.write(
                    content if is_whole else self._select(self.source.names, content, range(start, start + count))
                )
                start += count
                advance(len(content))

    def _select(self, names: Sequence[str], content: Text, rows: range) -> Text:
        """Return the selected columns of these rows."""
        cells = split_cells(np.frombuffer(content, np.uint8), len(names))
        texts, size = [content], len(content)
        parts: list[tuple[Rows, Rows]] = []
        for name in self.names:
            if name not in self.assigned:
                column = names.index(name)
                begins, ends = cells.starts[:, column], cells.ends[:, column] + 1
                if (
                    len(self.names) == 1
                ):  # as in Python's csv module, an empty cell has quotes if its row would be empty
                    is_empty = begins + 1 == ends
                    begins, ends = np.where(is_empty, size, begins), np.where(is_empty, size + 3, ends)
                    texts, size = [*texts, b'"",'], size + 3
            else:
                value = self.assigned[name]
                values = (
                    [str(number) for number in value[rows.start : rows.stop]]
                    if isinstance(value, range)
                    else [_print_value(value)]
                )
                ends = np.cumsum([len(text.encode()) + 1 for text in values]) + size
                begins = np.concatenate([[size], ends[:-1]])
                text = "".join(f"{text}," for text in values).encode()
                texts, size = [*texts, text], size + len(text)
            parts.append((np.broadcast_to(begins, len(rows)), np.broadcast_to(ends, len(rows))))
        begins, ends = (np.stack(side, axis=1).ravel() for side in zip(*parts, strict=True))
        joined = np.frombuffer(b"".join(texts), np.uint8)
        selected = np.array(np.frombuffer(join(joined, begins, ends), np.uint8))
        separators = np.cumsum(ends - begins) - 1
        selected[separators] = _COMMA
        selected[separators[len(parts) - 1 :: len(parts)]] = _LINE_FEED
        return selected.data


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
    except IrregularFileError:
        frame = read(path, dtype=dict.fromkeys(texts, str))
        return RowTable(frame, names=tuple(frame.columns))


def _scan_rows(
    path: Path, scratch: Path, read: Callable[..., pd.DataFrame], texts: Collection[str], limits: Limits
) -> RowTable:
    head = read(path, nrows=_GUESSED_ROWS)
    names = tuple(map(str, head.columns))
    if not isinstance(head.index, pd.RangeIndex) or len(head) == 0 or len(names) < 2:
        raise IrregularFileError
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


class _Block(NamedTuple):
    """The number of rows that were scanned together, and how many bytes they take: all of them, the changed ones."""

    rows: int
    raw_size: int
    changed_size: int


@dataclass(frozen=True)
class _Source:
    """Rows in the form that pandas would give them: those of the raw file, and those of a temporary one if changed."""

    raw: IO[bytes]
    start: int  # of the first row
    changed: IO[bytes]
    blocks: Sequence[_Block]
    sizes: Sizes  # of each row in bytes
    raw_sizes: Sizes  # ... in the raw file
    is_changed: Flags
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
        return len(self.sizes)

    def __getitem__(self, name: str) -> "pd.Series[Any]":
        return self.read_column(name)

    def read_rows(self, rows: Rows | None) -> Iterator[tuple[Text, int]]:
        """Yield rows as CSV text in parts, each with the number of its rows; by default all in their order."""
        if rows is None:
            for first, starts, texts in self._read_blocks(1):
                yield from _gather(texts, starts, self.sizes[first : first + len(starts)], np.arange(len(starts)))
        elif self._size <= self.limits.mapped:
            yield from _gather(self._mapped, self._starts, self.sizes, rows)
        elif (rows[1:] > rows[:-1]).all():
            yield from self._filter(rows)
        else:
            yield from self._shuffle(rows)

    def size_of(self, rows: Rows | None) -> int:
        """Return the size of rows in bytes."""
        return self._size if rows is None else int(self.sizes[rows].sum(dtype=np.intp))

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
        return int(self.sizes.sum(dtype=np.intp))

    @cached_property
    def _mapped(self) -> Texts:
        return _map(self.raw), _map(self.changed)

    @cached_property
    def _starts(self) -> Rows:
        """Where each row starts in the raw file, or behind its end if the row is changed."""
        starts = np.empty(len(self), np.intp)
        first, raw, changed = 0, self.start, os.fstat(self.raw.fileno()).st_size
        for block in self.blocks:
            starts[first : first + block.rows] = self._locate(first, block.rows, raw, changed)
            first, raw, changed = first + block.rows, raw + block.raw_size, changed + block.changed_size
        return starts

    def _locate(self, first: int, count: int, raw: int, changed: int) -> Rows:
        """Return where rows start, if those of the raw file and those that are changed start there."""
        rows = slice(first, first + count)
        starts = np.cumsum(self.raw_sizes[rows], dtype=np.intp) - self.raw_sizes[rows] + raw
        numbers = np.flatnonzero(self.is_changed[rows])
        sizes = self.sizes[rows][numbers]
        starts[numbers] = np.cumsum(sizes, dtype=np.intp) - sizes + changed
        return starts

    def _read_blocks(self, count: int) -> Iterator[tuple[int, Rows, Texts]]:
        """Yield so many blocks of the scan at a time: the number of the first row, where each starts, the content."""
        first, raw, changed = 0, self.start, 0
        for number in range(0, len(self.blocks), count):
            rows, raw_size, changed_size = (
                sum(sizes) for sizes in zip(*self.blocks[number : number + count], strict=True)
            )
            part = os.pread(self.raw.fileno(), raw_size, raw), os.pread(self.changed.fileno(), changed_size, changed)
            starts = self._locate(first, rows, 0, raw_size)
            yield first, starts, (np.frombuffer(part[0], np.uint8), np.frombuffer(part[1], np.uint8))
            first, raw, changed = first + rows, raw + raw_size, changed + changed_size

    def _filter(self, rows: Rows) -> Iterator[tuple[Text, int]]:
        """Yield rows in the order of the file."""
        for first, starts, texts in self._read_blocks(1):
            low, high = np.searchsorted(rows, (first, first + len(starts)))
            yield from _gather(texts, starts, self.sizes[first : first + len(starts)], rows[low:high] - first)

    def _shuffle(self, rows: Rows) -> Iterator[tuple[Text, int]]:
        """Yield rows in any order: distribute them to files in the order of the source, then shuffle each file."""
        check_space(self.scratch, self.size_of(rows), "shuffling rows in temporary files")
        per_bucket = -(-len(rows) // min(_MAX_BUCKETS, -(-self._size // self.limits.bucket)))
        parts = [rows[start : start + per_bucket] for start in range(0, len(rows), per_bucket)]
        buckets = np.full(len(self), len(parts), np.uint8)
        for number, part in enumerate(parts):
            buckets[part] = number
        if np.count_nonzero(buckets < len(parts)) < len(rows):
            raise ValueError("a row is taken twice")
        with ExitStack() as stack:
            files = [stack.enter_context(TemporaryFile(dir=self.scratch)) for _ in parts]
            self._distribute(buckets, files)
            del buckets
            for file, part in zip(files, parts, strict=True):
                file.flush()
                order = np.argsort(part)
                positions = np.empty(len(part), np.intp)
                positions[order] = np.arange(len(part))
                sizes = self.sizes[part[order]]
                yield from _gather((_map(file),), np.cumsum(sizes, dtype=np.intp) - sizes, sizes, positions)
                file.close()

    def _distribute(self, buckets: NDArray[np.uint8], files: Sequence[IO[bytes]]) -> None:
        """Write each row to the file of its bucket; rows of the bucket behind the last file are left out."""
        for first, starts, texts in self._read_blocks(_SHUFFLED_BLOCKS):
            chosen = buckets[first : first + len(starts)]
            sizes = self.sizes[first : first + len(starts)]
            order = np.argsort(chosen, kind="stable")
            bounds = np.searchsorted(chosen[order], np.arange(len(files) + 1))
            text = memoryview(join_parts(texts, starts[order], sizes[order]))
            offsets = np.concatenate([[0], np.cumsum(sizes[order], dtype=np.intp)])[bounds].tolist()
            for file, low, high in zip(files, offsets[:-1], offsets[1:], strict=True):
                file.write(text[low:high])


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
        self._texts = [
            column for column, (name, kind) in enumerate(kinds.items()) if kind == "text" and name not in texts
        ]
        # pandas infers types for so many rows at a time; see its TextReader.
        self._inferred_rows = 2 ** max(0, (2**20 // self._width - 1).bit_length() - 1)
        self._unproven: dict[int, set[int]] = {}  # by number of the portion: columns without a word so far
        self._suspects: dict[int, set[int]] = {}  # ... columns with a cell that may be a number, a boolean or missing

    def run(self) -> _Source:
        """Read the whole file; raises `_UnfitError` for a column that is not of its kind."""
        with ExitStack() as files:
            raw = files.enter_context(self._path.open("rb", buffering=0))
            changed = files.enter_context(TemporaryFile(dir=self._scratch))
            start = offset = count = 0
            blocks, sizes, raw_sizes, is_changed = list[_Block](), list[Sizes](), list[Sizes](), list[Flags]()
            size = os.fstat(raw.fileno()).st_size
            with stage(f"Reading {self._path.name}", ByteCount(size)) as advance:
                for block in _read_blocks(raw, self._limits.block):
                    rows = block
                    if not offset:
                        start = offset = _find_last_end(block, first=True)
                        self._check_header(block[:start])
                        rows = block[start:]
                    ends_early = offset + len(rows) > size  # a line end was added to the last row
                    part = self._normalize(rows, count, ends_early=ends_early)
                    changed.write(part.changed)
                    offset += len(rows)
                    count += len(part.sizes)
                    blocks.append(_Block(len(part.sizes), len(rows) - ends_early, len(part.changed)))
                    sizes.append(_shrink(part.sizes))
                    raw_sizes.append(_shrink(part.raw_sizes))
                    is_changed.append(part.is_changed)
                    advance(len(block))
            for portion, columns in self._unproven.items():
                if unfit := columns & self._suspects[portion]:
                    raise _UnfitError(min(unfit))
            changed.flush()
            source = _Source(
                raw,
                start,
                changed,
                blocks,
                np.concatenate(sizes),
                np.concatenate(raw_sizes),
                np.concatenate(is_changed),
                self._kinds,
                self._scratch,
                self._limits,
                self._read,
                self._read_column,
            )
            weakref.finalize(source, files.pop_all().close)
            return source

    def _check_header(self, line: bytes) -> None:
        """Raise `IrregularFileError` unless the first line has the names of the columns as pandas sees them."""
        try:
            cells = next(csv.reader([line.decode()]))
        except UnicodeDecodeError:
            raise IrregularFileError from None
        if [cell or f"Unnamed: {number}" for number, cell in enumerate(cells)] != list(self._kinds):
            raise IrregularFileError

    def _normalize(self, block: bytes, first: int, *, ends_early: bool) -> "_Normalized":
        """Find the rows that pandas writes in another form, and write them so."""
        rows = block
        if b"\r" in rows:
            rows = rows.replace(b"\r\n", b"\n")
            if b"\r" in rows or b'"' in rows:
                raise IrregularFileError
        if b"\0" in rows or not (rows.isascii() or _is_utf8(rows)):
            raise IrregularFileError
        cells = split_cells(np.frombuffer(rows, np.uint8), self._width)
        count = len(cells.starts)
        sizes = cells.row_ends - cells.row_starts
        is_changed = np.full(count, rows is not block)
        if ends_early:
            is_changed[-1] = True
        if not count:
            return _Normalized(sizes, sizes, is_changed, b"")
        self._prove_text(cells, first)
        edits = [edit for kind in ("int", "float", "bool", "text", "pandas") for edit in self._edit(cells, kind, first)]
        for edit in edits:
            is_changed[edit.rows] = True
        if not is_changed.any():
            return _Normalized(sizes, sizes, is_changed, b"")
        new_sizes = sizes.copy()
        changed, new_sizes[is_changed] = apply_edits(cells, edits, np.flatnonzero(is_changed))
        return _Normalized(new_sizes, sizes, is_changed, changed)

    def _edit(self, cells: Cells, kind: Kind, first: int) -> Iterator[Edits]:
        """Yield what pandas writes in the cells that it may change, in all columns of a kind."""
        names = {column: name for column, (name, of_kind) in enumerate(self._kinds.items()) if of_kind == kind}
        changes: dict[int, Rows] = {}
        for column, name in names.items():
            if kind == "pandas":
                rows = np.arange(len(cells.starts))
                yield _write(cells, rows, np.full(len(rows), column), self._by_pandas[name][first : first + len(rows)])
                continue
            rows = cells.find_changes(column, kind)
            if kind == "float" and len(rows):
                is_integer = cells.find_integers(column, rows)
                ends = cells.ends[rows[is_integer], column]
                yield Edits(rows[is_integer], ends, ends, b".0" * len(ends), np.full(len(ends), 2))
                rows = rows[~is_integer]
            if len(rows):
                changes[column] = rows
        if kind == "pandas" or not changes:
            return
        rows = np.concatenate(list(changes.values()))
        columns = np.repeat(list(changes), list(map(len, changes.values())))
        if len(rows) <= self._limits.few:
            few = [_PRINT_ONE[kind](cell) for cell in _extract_few(cells, rows, columns)]
            if None in few:
                raise _UnfitError(int(columns[few.index(None)]))
            yield _write_few(cells, rows, columns, [text for text in few if text is not None])
            return
        texts = _extract(cells, rows, columns)
        printed = _PRINT[kind](texts)
        if printed is None:
            raise _UnfitError(
                next(column for column in changes if _PRINT[kind](texts.filter(columns == column)) is None)
            )
        yield _write(cells, rows, columns, printed)

    def _prove_text(self, cells: Cells, first: int) -> None:
        """Find a word in each column of text, in every portion of rows that pandas infers types from.

        Without one, pandas reads the cells of that portion as numbers or booleans, whatever the others hold.
        """
        count = len(cells.starts)
        for portion in range(first // self._inferred_rows, (first + count - 1) // self._inferred_rows + 1):
            low = max(portion * self._inferred_rows - first, 0)
            high = min((portion + 1) * self._inferred_rows - first, count)
            unproven = self._unproven.setdefault(portion, set(self._texts))
            suspects = self._suspects.setdefault(portion, set())
            for begin, end in ((low, min(low + _PROBED_ROWS, high)), (min(low + _PROBED_ROWS, high), high)):
                if not unproven or begin == end:
                    continue
                for column in list(unproven):
                    rows, columns = np.arange(begin, end), np.full(end - begin, column)
                    if end - begin <= _PROBED_ROWS:
                        texts: Iterable[str] = _extract_few(cells, rows, columns)
                    else:
                        texts = _extract(cells, rows, columns).fill_null("").to_list()
                    present = [cell for cell in texts if cell not in _NO_TEXT]
                    if any(_WORD.search(cell) and not _NO_WORD.fullmatch(cell) for cell in present):
                        unproven.discard(column)
                    elif present:
                        suspects.add(column)


class _Normalized(NamedTuple):
    """The rows of a block: their sizes as pandas writes them and as they were, and the text of the changed ones."""

    sizes: Rows
    raw_sizes: Rows
    is_changed: Flags
    changed: Text


def _shrink(sizes: Rows) -> Sizes:
    return sizes.astype(np.min_scalar_type(int(sizes.max(initial=0))))


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _extract(cells: Cells, rows: Rows, columns: Rows) -> "pl.Series":
    """Return cells as text; empty ones are null."""
    import polars as pl

    is_empty = cells.find_empty(rows, columns)
    starts, ends = cells.starts[rows, columns][~is_empty], cells.ends[rows, columns][~is_empty] + 1
    lines = np.array(np.frombuffer(join(cells.content, starts, ends), np.uint8))
    lines[np.cumsum(ends - starts) - 1] = _LINE_FEED
    texts = pl.Series([], dtype=pl.String)
    if len(starts):
        try:
            texts = pl.read_csv(lines.tobytes(), has_header=False, schema={"cell": pl.String})["cell"]
        except pl.exceptions.PolarsError:
            raise IrregularFileError from None
    if len(texts) != len(starts):
        raise IrregularFileError
    if not is_empty.any():
        return texts
    return pl.repeat(None, len(rows), dtype=pl.String, eager=True).scatter(np.flatnonzero(~is_empty), texts)


def _extract_few(cells: Cells, rows: Rows, columns: Rows) -> list[str]:
    """Return cells as text, one by one."""
    bounds = zip(cells.starts[rows, columns].tolist(), cells.ends[rows, columns].tolist(), strict=True)
    content = cells.content.data
    texts = [str(content[start:end], "utf-8") for start, end in bounds]
    return [
        text[1:-1].replace('""', '"') if text[:1] == '"' else text  # quotes are checked by `split_cells`
        for text in texts
    ]


def _write_few(cells: Cells, rows: Rows, columns: Rows, printed: Iterable[str]) -> Edits:
    """Return the replacement of cells by these texts, with quotes where they need them."""
    quoted = ['"' + text.replace('"', '""') + '"' if set(text) & _SPECIAL else text for text in printed]
    texts = [text.encode() for text in quoted]
    sizes = np.array(list(map(len, texts)), np.intp)
    return Edits(rows, cells.starts[rows, columns], cells.ends[rows, columns], b"".join(texts), sizes)


def _write(cells: Cells, rows: Rows, columns: Rows, printed: "pl.Series") -> Edits:
    """Return the replacement of cells by these texts, with quotes where they need them."""
    printed = printed.fill_null("")
    if (needs_quotes := printed.str.contains('[,"\r\n]')).any():
        printed = ('"' + printed.str.replace_all('"', '""', literal=True) + '"').zip_with(needs_quotes, printed)
    sizes = printed.str.len_bytes().to_numpy().astype(np.intp)
    text = "".join(printed.to_list()).encode()
    return Edits(rows, cells.starts[rows, columns], cells.ends[rows, columns], text, sizes)


def _print_int(cells: "pl.Series") -> "pl.Series | None":
    import polars as pl

    if not cells.str.contains("^[+-]?[0-9]{1,18}$").fill_null(value=False).all():
        return None
    return cells.cast(pl.Int64).cast(pl.String)


def _print_float(cells: "pl.Series") -> "pl.Series | None":
    import polars as pl

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


def _print_bool(cells: "pl.Series") -> "pl.Series | None":
    import polars as pl

    printed = cells.replace_strict(_BOOLEANS, default=None, return_dtype=pl.String)
    return None if printed.null_count() else printed


def _print_text(cells: "pl.Series") -> "pl.Series":
    return cells.set(cells.is_in(["", *MISSING]), None)


_PRINT: dict[Kind, Callable[["pl.Series"], "pl.Series | None"]] = {
    "int": _print_int,
    "float": _print_float,
    "bool": _print_bool,
    "text": _print_text,
}


def _print_one_int(cell: str) -> str | None:
    return str(int(cell)) if _INTEGER.fullmatch(cell) else None


def _print_one_float(cell: str) -> str | None:
    if cell in _NO_TEXT:
        return ""
    printed = repr(float(cell)) if _USUAL_NUMBER.fullmatch(cell) else "inf"
    return None if "inf" in printed else printed


def _print_one_text(cell: str) -> str:
    return "" if cell in _NO_TEXT else cell


_PRINT_ONE: dict[Kind, Callable[[str], str | None]] = {
    "int": _print_one_int,
    "float": _print_one_float,
    "bool": _BOOLEANS.get,
    "text": _print_one_text,
}
"""The same for a single cell."""


def _print_column(column: "pd.Series[Any]") -> "pl.Series":
    """Return the cells of a column as pandas writes them."""
    import polars as pl

    rows = csv.reader(io.StringIO(column.to_frame().to_csv(index=False, header=False), newline=""))
    return pl.Series([row[0] or None for row in rows], dtype=pl.String)


def _print_header(names: Sequence[str]) -> bytes:
    return str(pd.DataFrame(columns=list(names)).to_csv(index=False)).encode()


def _print_value(value: Value) -> str:
    return str(pd.DataFrame({"value": [value]}).to_csv(index=False, header=False)).removesuffix("\n")


def _read_blocks(file: IO[bytes], size: int) -> Iterator[bytes]:
    """Yield a file in blocks of whole rows; a missing last line end is added."""
    start, rest = 0, size
    while part := os.pread(file.fileno(), rest, start):
        if end := _find_last_end(part):
            start, rest = start + end, size
            yield part[:end]
        elif len(part) < rest:
            if part.count(b'"') % 2:
                raise IrregularFileError
            yield part + b"\n"
            return
        else:
            rest *= 2


def _find_last_end(content: bytes, *, first: bool = False) -> int:
    """Return where the last row ends, or the first one: behind a line feed that is not within quotes."""
    if b'"' not in content:
        return (content.find(b"\n") if first else content.rfind(b"\n")) + 1
    view = np.frombuffer(content, np.uint8)
    feeds = np.flatnonzero(view == _LINE_FEED)
    feeds = feeds[np.searchsorted(np.flatnonzero(view == _QUOTE), feeds) % 2 == 0]
    return int(feeds[0 if first else -1]) + 1 if len(feeds) else 0


def _gather(texts: Texts, starts: Rows, sizes: Sizes, rows: Rows) -> Iterator[tuple[Text, int]]:
    """Yield rows one after the other, in parts, each with the number of its rows."""
    count = max(1, _PART * len(sizes) // max(1, int(sizes.sum(dtype=np.intp))))
    for begin in range(0, len(rows), count):
        part = rows[begin : begin + count]
        yield join_parts(texts, starts[part], sizes[part]), len(part)


def _map(file: IO[bytes]) -> Bytes:
    if not os.fstat(file.fileno()).st_size:
        return np.empty(0, np.uint8)
    flags = mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0)
    return np.frombuffer(mmap.mmap(file.fileno(), 0, flags, mmap.PROT_READ), np.uint8)
