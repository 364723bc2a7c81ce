"""From bytes to a table of text: the CSV rules, before anything is known of what the columns mean.

A table is UTF-8 text, with or without a byte-order mark, with lines that end in LF or CRLF, comma-separated, quoted
with `"` where a value holds commas or newlines. The first line has the names, in any order. Blank lines are skipped.
"""

import csv
import io
import mmap
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

import polars as pl

from assay.core.errors import InvalidSubmission
from assay.core.text import quote, quote_some

Content = bytes | mmap.mmap
"""A file's bytes, or a file that can be looked at as if it were bytes."""

ROW = "\0row"
"""The column that holds each row's number in the file, counted from 1 below the header; no CSV header can hold it."""

LONGEST_HEADER = 1 << 16
_UNFINISHED = (b",", b',"', b'\n"')  # Polars overlooks a comma too many at the very end, and panics at an open quote.
_PIECE = 1 << 24
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def parse_table(
    content: bytes, columns: Sequence[str], name: str, *, allow_more: bool = False, order: str = "any"
) -> pl.DataFrame:
    """The table in `content` with exactly `columns`, as text, and the column `ROW`; `name` is for messages."""
    content = content.removeprefix(_BYTE_ORDER_MARK)
    if not content.endswith(b"\n"):
        content += b"\n"  # Without it, polars does not see a comma too many at the very end.
    header = read_header(content, name)
    check_header(header, columns, name, allow_more=allow_more, order=order)
    refuse_hollow(content, len(header), name)
    try:
        table = pl.read_csv(content, schema=dict.fromkeys(header, pl.String))
    except pl.exceptions.PolarsError as error:
        raise InvalidSubmission(f"{name} is not a CSV table: {_said(error)}.") from None
    except pl.exceptions.PanicException:
        raise InvalidSubmission(f"{name} is not a CSV table: its rows cannot be told apart.") from None
    table = table.with_row_index(ROW, offset=1).filter(~pl.all_horizontal(pl.col(header).is_null()))
    if table.is_empty():
        raise InvalidSubmission(f"{name} has a header but no rows.")
    return table


def read_quickly(
    content: Content,
    wanted: Sequence[str],
    numeric: Collection[str],
    *,
    address: str | None = None,
    more: bool = False,
    ours: bool = False,
) -> pl.DataFrame | None:
    """The `wanted` columns with numbers as numbers, if the table is so plain that nothing needs to be explained.

    Plain means: the right columns, no quotes in the first line, every number written without blanks after it, no value
    missing. None for any other table. With `more`, further columns are left out. Tables that are `ours` may have
    further columns and missing values, and the others' rows are not looked at. `address` is where polars finds the
    same content by itself, which is quicker.
    """
    header = plain_header(content)
    if header is None or not set(wanted) <= set(header) or len(set(header)) != len(header):
        return None
    if (len(wanted) != len(header) and not (more or ours)) or content[-2:].endswith(_UNFINISHED):
        return None
    if not ours and _is_hollow(content, len(header)):
        return None
    schema = {name: pl.Float64 if name in numeric else pl.String for name in header}
    try:
        # Polars does not see that a row is too long behind the last column it is asked for: all are, unless it is ours.
        source = address or bytes(content)
        table = pl.read_csv(source, schema=schema, columns=list(wanted) if ours else None).select(wanted)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return None
    if any(column.null_count() for column in table):
        if not ours:
            return None
        table = table.filter(~pl.all_horizontal(pl.all().is_null()))  # blank lines
    return None if table.is_empty() else table


def plain_header(content: Content) -> list[str] | None:
    """The names in the first line, taken apart at commas without further thought; None if it is not UTF-8."""
    head = content[:LONGEST_HEADER].removeprefix(_BYTE_ORDER_MARK).partition(b"\n")[0].removesuffix(b"\r")
    try:
        return head.decode().split(",")
    except UnicodeDecodeError:
        return None


def refuse_hollow(content: bytes, columns: int, name: str) -> None:
    """Raise `InvalidSubmission` for a table that would take far more memory than its file: many columns, short rows."""
    if _is_hollow(content, columns):
        raise InvalidSubmission(f"{name} is not a CSV table: its rows are much shorter than its first line.")


def pieces_of(content: Content) -> Iterator[bytes]:
    """The content piece by piece, each of which is bytes."""
    return (content[start : start + _PIECE] for start in range(0, len(content), _PIECE))


def _is_hollow(content: Content, columns: int) -> bool:
    if columns <= 4:  # A whole row has a byte for each of its values, so this cannot be with a few columns.
        return False
    lines = sum(piece.count(b"\n") + piece.count(b"\r") for piece in pieces_of(content))
    return columns * lines > 4 * len(content) + 10**6


def read_header(content: bytes, name: str) -> list[str]:
    """The column names. Read before the body, so that a million columns cost nothing."""
    head = content[:LONGEST_HEADER]
    if b"\0" in head:
        raise InvalidSubmission(f"{name} is not text: it holds zero bytes; write a CSV file in UTF-8.")
    line, newline, _ = head.partition(b"\n")
    if not newline and len(content) > LONGEST_HEADER:
        raise InvalidSubmission(f"{name} is not a CSV table: its first line is over {LONGEST_HEADER:,} bytes long.")
    try:
        return next(csv.reader(io.StringIO(line.decode().removesuffix("\r"), newline="\n"), strict=True), [])
    except UnicodeDecodeError:
        raise InvalidSubmission(f"{name} is not UTF-8 text.") from None
    except csv.Error as error:
        raise InvalidSubmission(f"{name} is not a CSV table: in its first line, {error}.") from None


def check_header(
    header: Sequence[str], columns: Sequence[str], name: str, *, allow_more: bool, order: str = "any"
) -> None:
    """Raise `InvalidSubmission` unless the names in a table's first line are those of `columns`.

    Their order is any, or must be the same (`exact`), or the first must be the first (`id-first`).
    """
    needed = f"the columns must be {', '.join(columns)}"
    if repeated := [column for column, times in Counter(header).items() if times > 1]:
        raise InvalidSubmission(f"{name} has column {quote_some(repeated)} more than once; {needed}.")
    if missing := [column for column in columns if column not in set(header)]:
        found = f"it has {quote_some(header, 6)}" if any(header) else "its first line is blank"
        raise InvalidSubmission(f"{name} lacks column {quote_some(missing)}: {found}, but {needed}.")
    if not allow_more and (unknown := [column for column in header if column not in set(columns)]):
        raise InvalidSubmission(f"{name} has unknown column {quote_some(unknown)}; {needed}.")
    if order == "id-first" and header[0] != columns[0]:
        raise InvalidSubmission(f"{name} begins with column {quote(header[0])}; {quote(columns[0])} must be the first.")
    if order == "exact" and list(header) != list(columns):
        raise InvalidSubmission(f"{name} has its columns in another order; {needed}, in this order.")


def _said(error: Exception) -> str:
    text = str(error)
    if "utf-8" in text.lower():
        return "it is not UTF-8 text"
    if "more fields" in text:
        return "a row has more values than the header has columns"
    return "a quoted value does not end, or something follows its closing quote"
