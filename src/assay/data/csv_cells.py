"""The cells of a block of CSV text, told apart and checked by whole columns at a time.

Commas, line feeds and quotes are found once; they are where cells end. Whether a cell is a number as pandas prints it
is asked of eight of its characters at a time, which are one integer.
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
_WORD = 8
# In each of the eight bytes of a word: the character 0, that or the high bit of a byte, what lifts 10 above 127, ...
_ZEROS, _POINTS, _LOW, _HIGH, _ABOVE_9 = (
    np.uint64(int.from_bytes(bytes([byte]) * _WORD)) for byte in (_ZERO, _POINT ^ _ZERO, 0x7F, 0x80, 0x80 - 10)
)
_FIRST_BYTES = np.array([2 ** (8 * count) - 1 for count in range(_WORD + 1)], np.uint64)
_MIN_ALIKE = 8  # parts of the same size, on average, that are faster copied together


class IrregularFileError(Exception):
    """A file whose rows only pandas can tell apart."""


@dataclass(frozen=True)
class Cells:
    """The cells of some rows; `starts` and `ends` have a row for each and a column for each column of the table."""

    content: Bytes
    starts: Rows
    ends: Rows
    marks: Rows | None = None  # the number of the separator behind each cell among commas, line feeds and quotes

    @cached_property
    def words(self) -> NDArray[np.void]:
        """The eight bytes from each position on, and zeros behind the end."""
        return _windows(np.concatenate([self.content, np.zeros(3 * _WORD, np.uint8)]), _WORD)

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
        if self.marks is None:
            return np.zeros(self.starts.shape, np.bool_)
        flags: Flags = np.diff(self.marks, prepend=-1).reshape(self.starts.shape) > 3
        return flags

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
    is_mark, is_quote = (content == _COMMA) | (content == _LINE_FEED), content == _QUOTE
    separators = None
    if is_quote.any():
        marks = np.flatnonzero(is_mark | is_quote)
        is_quote = is_quote[marks]
        _check_quotes(content, marks[is_quote])
        separators = np.flatnonzero(~is_quote & (np.cumsum(is_quote, dtype=np.uint8) % 2 == 0))
        marks = marks[separators]
    else:
        marks = np.flatnonzero(is_mark)
    if len(marks) % width:
        raise IrregularFileError
    kinds = content.take(marks).reshape(-1, width)
    if not ((kinds[:, :-1] == _COMMA).all() and (kinds[:, -1] == _LINE_FEED).all()):
        raise IrregularFileError
    ends = np.asfortranarray(marks.reshape(kinds.shape))  # all cells of a column lie side by side in memory
    starts = np.empty_like(ends)
    starts[:, 1:] = ends[:, :-1] + 1
    starts[1:, 0] = ends[:-1, -1] + 1
    starts[:1, 0] = 0
    return Cells(content, starts, ends, separators)


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
    first, size, first_char, is_negative = _skip_minus(cells, cells.starts[rows, column], cells.ends[rows, column])
    flags: Flags = (size >= 1) & (size <= max_digits)
    flags &= (first_char != _ZERO) | ((size == 1) & ~is_negative)
    for offset in range(0, min(int(size.max(initial=0)), max_digits), _WORD):
        flags &= _find_no_digits(_read_word(cells, first, size, offset)) == 0
    return flags


def _is_printed_float(cells: Cells, column: int) -> Flags:
    """Whether a cell is empty, or a number that has a point, few digits, no needless zeros and no exponent."""
    content, start, end = cells.content, cells.starts[:, column], cells.ends[:, column]
    first, size, first_char, _ = _skip_minus(cells, start, end)
    points = np.zeros(len(start), np.uint64)
    flags: Flags = size <= _MAX_DIGITS + 1
    for number, offset in enumerate(range(0, min(int(size.max(initial=0)), _MAX_DIGITS + 1), _WORD)):
        word = _read_word(cells, first, size, offset)
        no_digits = _find_no_digits(word)
        word ^= _POINTS  # in which a point is zero
        flags &= no_digits == (~(((word & _LOW) + _LOW) | word) & _HIGH)
        points |= no_digits >> np.uint64(number)
    last_char = content.take(end - 1)
    flags &= (points != 0) & (points & (points - np.uint64(1)) == 0) & (first_char != _POINT) & (last_char != _POINT)
    # Needless zeros, and less than 0.0001, which is printed with an exponent.
    if len(rows := np.flatnonzero(flags & (last_char == _ZERO))):
        flags[rows] = content[end[rows] - 2] == _POINT
    if len(rows := np.flatnonzero(flags & (first_char == _ZERO))):
        is_large = (size[rows] <= 2 + 4) | (content[first[rows] + 2] != _ZERO)
        flags[rows] = (content[first[rows] + 1] == _POINT) & is_large
    flags |= start == end
    return flags


def _skip_minus(cells: Cells, starts: Rows, ends: Rows) -> tuple[Rows, Rows, Bytes, Flags]:
    """Return where cells start behind a minus, their sizes and first characters there, and whether they have one."""
    first_char = cells.content.take(starts)
    is_negative = first_char == _MINUS
    if is_negative.any():
        starts = starts + is_negative
        first_char = cells.content.take(starts)
    return starts, ends - starts, first_char, is_negative


def _read_word(cells: Cells, starts: Rows, sizes: Rows, offset: int) -> NDArray[np.uint64]:
    """Return eight characters of each cell, less 0 each; those behind its end are 0."""
    word = cells.words[starts + offset].view("<u8") ^ _ZEROS
    word &= _FIRST_BYTES.take(sizes - offset, mode="clip")
    return word


def _find_no_digits(word: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the high bits of the bytes that are no digits."""
    high_bits: NDArray[np.uint64] = (((word & _LOW) + _ABOVE_9) | word) & _HIGH
    return high_bits


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
