"""The layout of text tables: one line per row, long cells shortened, and columns dropped in order, to fit a width."""

from collections.abc import Sequence
from dataclasses import dataclass

GAP = 2
_SHORTEST = 8


@dataclass(frozen=True)
class TableColumn:
    """A column of a table.

    Where space is short, cells of a `shrinks` column are shortened to no less than `min_width`; if that is not enough,
    columns are left out by the order of `leave_out`, the lowest number first, and never without one. Names lose their
    middle, because their ends distinguish them; `prose` loses its end.
    """

    name: str
    right: bool = False
    shrinks: bool = False
    prose: bool = False
    min_width: int = 20
    leave_out: int | None = None


@dataclass(frozen=True)
class FittedTable:
    """A table as it is printed: its header and rows, padded to the width of each column, and what was left out."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left_out: tuple[str, ...]


def fit_table(columns: Sequence[TableColumn], rows: Sequence[Sequence[str]], width: int | None) -> FittedTable:
    """Fit a table into `width` characters; None leaves every cell as it is, as for a file or a pipe."""
    kept, left_out = list(range(len(columns))), list[str]()
    while True:
        widths = [_natural_width(columns[index].name, [row[index] for row in rows]) for index in kept]
        if width is not None:
            widths = _shrink([columns[index] for index in kept], widths, width)
        droppable = [index for index in kept if columns[index].leave_out is not None]
        if width is None or _total(widths) <= width or not droppable:
            break
        dropped = min(droppable, key=lambda index: columns[index].leave_out or 0)
        kept.remove(dropped)
        left_out.append(columns[dropped].name)
    if width is not None and _total(widths) > width:  # nothing else is left: shorten the widest
        while _total(widths) > width and max(widths) > _SHORTEST:
            widths[widths.index(max(widths))] -= 1
    chosen = [columns[index] for index in kept]
    header = _pad([column.name for column in chosen], chosen, widths)
    body = tuple(_pad([row[index] for index in kept], chosen, widths) for row in rows)
    return FittedTable(header, body, tuple(left_out))


def shorten_middle(text: str, width: int) -> str:
    """Return the start and the end of a text that is longer than `width`, with … in place of its middle."""
    if len(text) <= width:
        return text
    if width < 3:
        return text[:width]
    tail = (width - 1) // 2
    return f"{text[: width - 1 - tail]}…{text[len(text) - tail :]}"


def _natural_width(name: str, cells: Sequence[str]) -> int:
    return max(map(len, [name, *cells]))


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + GAP * (len(widths) - 1)


def _shrink(columns: Sequence[TableColumn], widths: Sequence[int], width: int) -> list[int]:
    """Narrow the widest column that may shrink until the table fits or no column can shrink further."""
    widths = list(widths)
    while _total(widths) > width:
        able = [index for index, column in enumerate(columns) if column.shrinks and widths[index] > column.min_width]
        if not able:
            break
        widths[max(able, key=lambda index: widths[index])] -= 1
    return widths


def _pad(cells: Sequence[str], columns: Sequence[TableColumn], widths: Sequence[int]) -> tuple[str, ...]:
    padded = []
    for cell, column, width in zip(cells, columns, widths, strict=True):
        fitted = _shorten_end(cell, width) if column.prose else shorten_middle(cell, width)
        padded.append(fitted.rjust(width) if column.right else fitted.ljust(width))
    return tuple(padded)


def _shorten_end(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1].rstrip() + "…"
