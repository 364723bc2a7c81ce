"""The cells of a block of CSV text, told apart and checked by whole columns at a time.

All positions of bytes that are no digits are found once; the separators among them are where cells end, and how many
others lie in a cell, and which, says whether it is a number as pandas prints it.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pandas._libs.parsers import STR_NA_VALUES  # type: ignore[import-not-found]

Bytes = NDArray[np.uint8]
Flags = NDArray[np.bool_]
Text = bytes | memoryview
Texts = tuple[Bytes] | tuple[Bytes, Bytes]
Rows = NDArray[np.intp]
Sizes = NDArray[np.unsignedinteger[Any]]
PlainKind = Literal["int", "float", "bool", "text"]

MISSING = sorted(STR_NA_VALUES - {""})
_LINE_FEED, _QUOTE, _COMMA, _ZERO, _MINUS, _POINT = b'\n",0-.'
_MISSING_BYTES = frozenset(word.encode() for word in MISSING)
_MAX_MISSING = max(map(len, _MISSING_BYTES))
_BEGINS_MISSING = np.isin(np.arange(256), [word[0] for word in _MISSING_BYTES])
_TRUE, _FALSE = (int.from_bytes(word, "little") for word in (b"True", b"Fals"))
_MAX_DIGITS = 15  # of a float: with so many no shorter text has the same value
_MAX_INT_DIGITS = 18  # that 64 bits always hold
_MIN_ALIKE = 8  # parts of the same size, on average, that are faster copied together


class IrregularFileError(Exception):
    """A file whose rows only pandas can tell apart."""


@dataclass(frozen=True)
class Cells:
    """The cells of some rows; `starts` and `ends` have a row for each and a column for each column of the table."""

    content: Bytes
    starts: Rows
    ends: Rows
    marks: Rows  # where a byte is no digit
    chars: Bytes  # these bytes
    last_mark: Rows  # the number of the separator behind a cell among the marks

    @cached_property
    def counts(self) -> Rows:
        """How many bytes in a cell are no digits."""
        counts = np.empty_like(self.last_mark)
        counts[:, 1:] = self.last_mark[:, 1:] - self.last_mark[:, :-1]
        counts[1:, 0] = self.last_mark[1:, 0] - self.last_mark[:-1, -1]
        counts[:1, 0] = self.last_mark[:1, 0] + 1
        counts -= 1
        return counts

    @cached_property
    def row_starts(self) -> Rows:
        """Where each row starts."""
        return self.starts[:, 0]

    @cached_property
    def row_ends(self) -> Rows:
        """Where each row ends, behind its line feed."""
        return self.ends[:, -1] + 1

    @cached_property
    def needs_quotes(self) -> Flags:
        """Whether a cell in quotes has a comma, a line feed or a quote, without which pandas writes no quotes."""
        is_special = (self.chars == _COMMA) | (self.chars == _LINE_FEED) | (self.chars == _QUOTE)
        counts = np.diff(np.cumsum(is_special)[self.last_mark.ravel()], prepend=0) - 1
        return counts.reshape(self.starts.shape) > 2

    def find_changes(self, column: int, kind: PlainKind) -> Rows:
        """Return the rows whose cell in a column of this kind pandas may write in another form."""
        return np.flatnonzero(~_IS_PRINTED[kind](self, column))

    def find_integers(self, column: int, rows: Rows) -> Flags:
        """Return for each of these rows whether its cell is an integer to which pandas adds only `.0` in floats."""
        return _is_printed_int(self, column, rows, _MAX_DIGITS)

    def find_empty(self, rows: Rows, columns: Rows) -> Flags:
        """Return for each of these cells whether it is empty, with or without quotes."""
        starts = self.starts[rows, columns]
        sizes = self.ends[rows, columns] - starts
        flags: Flags = (sizes == 0) | ((sizes == 2) & (self.content[starts] == _QUOTE))
        return flags


def split_cells(content: Bytes, width: int) -> Cells:
    """Return the cells of whole rows; raises `IrregularFileError` where quotes or the number of cells are unusual."""
    marks = np.flatnonzero(content - np.uint8(_ZERO) > 9)
    chars = content.take(marks)
    is_separator = (chars == _COMMA) | (chars == _LINE_FEED)
    is_quote = chars == _QUOTE
    if is_quote.any():
        _check_quotes(content, marks[is_quote])
        is_separator &= np.cumsum(is_quote, dtype=np.uint8) % 2 == 0
    separators = np.flatnonzero(is_separator)
    if len(separators) % width:
        raise IrregularFileError
    kinds = chars[separators].reshape(-1, width)
    if not ((kinds[:, :-1] == _COMMA).all() and (kinds[:, -1] == _LINE_FEED).all()):
        raise IrregularFileError
    # All cells of a column lie side by side in memory.
    last_mark = np.asfortranarray(separators.reshape(kinds.shape))
    ends = np.asfortranarray(marks.take(separators).reshape(kinds.shape))
    starts = np.empty_like(ends)
    starts[:, 1:] = ends[:, :-1] + 1
    starts[1:, 0] = ends[:-1, -1] + 1
    starts[:1, 0] = 0
    return Cells(content, starts, ends, marks, chars, last_mark)


def _check_quotes(content: Bytes, quotes: Rows) -> None:
    """Raise `IrregularFileError` unless every quote opens or closes a cell, or is one of two in it."""
    if len(quotes) % 2:
        raise IrregularFileError
    neighbors = np.concatenate([content[quotes[::2] - 1][quotes[::2] > 0], content[quotes[1::2] + 1]])
    if not ((neighbors == _COMMA) | (neighbors == _LINE_FEED) | (neighbors == _QUOTE)).all():
        raise IrregularFileError


def _is_printed_int(
    cells: Cells, column: int, rows: Rows | slice = slice(None), max_digits: int = _MAX_INT_DIGITS
) -> Flags:
    start = cells.starts[rows, column]
    first_char = cells.content.take(start)
    is_negative = first_char == _MINUS
    digits = cells.ends[rows, column] - start
    if is_negative.any():
        digits -= is_negative
        first_char = cells.content.take(start + is_negative)
    flags: Flags = (cells.counts[rows, column] == is_negative) & (digits >= 1) & (digits <= max_digits)
    flags &= (first_char != _ZERO) | ((digits == 1) & ~is_negative)
    return flags


def _is_printed_float(cells: Cells, column: int) -> Flags:
    """Whether a cell is empty, or a number that has a point, few digits, no needless zeros and no exponent."""
    content, start, end = cells.content, cells.starts[:, column], cells.ends[:, column]
    mark = cells.last_mark[:, column] - 1
    point = cells.marks.take(mark)
    first_char = content.take(start)
    is_negative = first_char == _MINUS
    first = start
    if is_negative.any():
        first = start + is_negative
        first_char = content.take(first)
    decimals = end - point
    decimals -= 1
    flags: Flags = (cells.counts[:, column] == 1 + is_negative.view(np.int8)) & (cells.chars.take(mark) == _POINT)
    flags &= (point > first) & (decimals >= 1) & (end - first <= _MAX_DIGITS + 1)
    flags &= (content.take(end - 1) != _ZERO) | (decimals == 1)
    # Needless zeros, and less than 0.0001, which is printed with an exponent.
    if len(rows := np.flatnonzero(flags & (first_char == _ZERO))):
        is_large = (decimals[rows] <= 4) | (content[point[rows] + 1] != _ZERO)
        flags[rows] = (point[rows] - first[rows] == 1) & is_large
    flags |= start == end
    return flags


def _is_printed_bool(cells: Cells, column: int) -> Flags:
    start, size = cells.starts[:, column], cells.ends[:, column] - cells.starts[:, column]
    padded = np.concatenate([cells.content, np.zeros(4, np.uint8)])
    words = np.ndarray((len(cells.content),), "<u4", padded, strides=(1,))[start]
    is_false = (size == 5) & (words == _FALSE) & (padded[start + 4] == ord("e"))
    flags: Flags = ((size == 4) & (words == _TRUE)) | is_false
    return flags


def _is_printed_text(cells: Cells, column: int) -> Flags:
    content, start, end = cells.content, cells.starts[:, column], cells.ends[:, column]
    first = content[start]
    is_printed: Flags = first != _QUOTE
    if not is_printed.all():
        is_printed |= cells.needs_quotes[:, column]
    for row in np.flatnonzero(_BEGINS_MISSING[first] & (end - start <= _MAX_MISSING)):
        is_printed[row] = content[start[row] : end[row]].tobytes() not in _MISSING_BYTES
    return is_printed


_IS_PRINTED: dict[PlainKind, Callable[[Cells, int], Flags]] = {
    "int": _is_printed_int,
    "float": _is_printed_float,
    "bool": _is_printed_bool,
    "text": _is_printed_text,
}


@dataclass(frozen=True)
class Edits:
    """New text for cells: where the cells are, and the new texts one after the other with the size of each."""

    rows: Rows
    starts: Rows
    ends: Rows
    text: bytes
    sizes: Rows


def apply_edits(cells: Cells, edits: Collection[Edits], numbers: Rows) -> tuple[Text, Rows]:
    """Return these rows with new text in some cells, and the size of each row; all edits are in them."""
    row_starts, row_ends = cells.row_starts[numbers], cells.row_ends[numbers]
    if not edits:
        return join(cells.content, row_starts, row_ends), row_ends - row_starts
    rows, starts, ends, sizes = (
        np.concatenate([getattr(edit, name) for edit in edits]) for name in ("rows", "starts", "ends", "sizes")
    )
    new_ends = np.cumsum(sizes) + len(cells.content)
    order = np.argsort(starts, kind="stable")
    rows, starts, ends, sizes, new_ends = (values[order] for values in (rows, starts, ends, sizes, new_ends))
    rows = np.searchsorted(numbers, rows)
    # What stays of a row lies between its start, the edits in it, and its end; each edit comes behind what is before.
    behind = rows + 1 + np.arange(len(rows))
    kept_starts = np.insert(row_starts, rows + 1, ends)
    kept_ends = np.insert(row_ends, rows, starts)
    joined = np.frombuffer(b"".join([cells.content.data, *(edit.text for edit in edits)]), np.uint8)
    text = join(joined, np.insert(kept_starts, behind, new_ends - sizes), np.insert(kept_ends, behind, new_ends))
    added = np.bincount(rows, sizes - (ends - starts), len(numbers)).astype(np.intp)
    return text, row_ends - row_starts + added


def join(content: Bytes, starts: Rows, ends: Rows) -> Text:
    """Return parts of a text one after the other."""
    sizes = ends - starts
    return join_parts((content,), starts, sizes.astype(np.min_scalar_type(int(sizes.max(initial=0)))))


def join_parts(texts: Texts, starts: Rows, sizes: Sizes) -> Text:
    """Return parts of one text, or of two of which the second is thought behind the first, one after the other.

    All parts of the same size are copied at once.
    """
    if not len(sizes):
        return b""
    order = np.argsort(sizes, kind="stable")
    ordered = sizes[order].astype(np.intp)
    bounds = np.flatnonzero(np.diff(ordered, prepend=-1, append=-1))
    limit = len(texts[0])
    if len(bounds) * _MIN_ALIKE > len(sizes):
        views = [*(text.data for text in texts), memoryview(b"")]
        return b"".join(
            [
                views[0][start : start + size] if start < limit else views[1][start - limit : start - limit + size]
                for start, size in zip(starts.tolist(), sizes.tolist(), strict=True)
            ]
        )
    begins = np.cumsum(sizes, dtype=np.intp)
    joined = np.empty(int(begins[-1]), np.uint8)
    begins -= sizes
    starts, begins = starts[order], begins[order]
    for low, high in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        if size := int(ordered[low]):
            target, source = _windows(joined, size), starts[low:high]
            if len(texts) == 1 or not len(texts[1]):
                target[begins[low:high]] = _windows(texts[0], size)[source]
                continue
            is_second = source >= limit
            for text, flags, shift in ((texts[0], ~is_second, 0), (texts[1], is_second, limit)):
                if len(text) >= size:
                    target[begins[low:high][flags]] = _windows(text, size)[source[flags] - shift]
    return joined.data


def _windows(text: Bytes, size: int) -> NDArray[np.void]:
    """Return all parts of a text of this size."""
    return np.ndarray((len(text) - size + 1,), f"V{size}", text, strides=(1,))
