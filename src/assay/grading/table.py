"""From bytes to a table of text: the CSV rules, before anything is known of what the columns mean.

A table is UTF-8 text, with or without a byte-order mark, with lines that end in LF or CRLF, comma-separated, quoted
with `"` where a value holds commas or newlines. The first line has the names, in any order. Blank lines are skipped.
"""

import csv
import io
from collections import Counter
from collections.abc import Collection, Sequence

import polars as pl

from assay.errors import InvalidSubmission
from assay.tasks import Submission

ROW = "\0row"
"""The column that holds each row's number in the file, counted from 1 below the header; no CSV header can hold it."""

_LONGEST_HEADER = 1 << 16
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def parse_table(content: bytes, columns: Collection[str], name: str, *, allow_more: bool = False) -> pl.DataFrame:
    """The table in `content` with exactly `columns`, as text, and the column `ROW`; `name` is for messages."""
    content = content.removeprefix(_BYTE_ORDER_MARK)
    header = _header(content, name)
    _check_header(header, columns, name, allow_more)
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


def read_quickly(content: bytes, submission: Submission, *, more: bool = False) -> pl.DataFrame | None:
    """The table with its numbers as numbers, if it is so plain that nothing needs to be explained; else None.

    Plain means: the right columns, no quotes in the first line, every number written without blanks, no value missing.
    With `more`, further columns are left out.
    """
    head = content[:_LONGEST_HEADER].removeprefix(_BYTE_ORDER_MARK).partition(b"\n")[0].removesuffix(b"\r")
    try:
        header = head.decode().split(",")
    except UnicodeDecodeError:
        return None
    wanted = [*([submission.id] if submission.id else []), *submission.columns]
    if not set(wanted) <= set(header) or (len(wanted) != len(header) and not more) or len(set(header)) != len(header):
        return None
    numeric = {name for name, rule in submission.columns.items() if rule.type in ("number", "integer")}
    schema = {name: pl.Float64 if name in numeric else pl.String for name in header}
    try:
        table = pl.read_csv(content, schema=schema, columns=wanted)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return None
    return None if table.is_empty() or any(column.null_count() for column in table) else table


def shown(text: object) -> str:
    """A value as it may stand in a message: quoted, on one line, cut where it is long."""
    value = str(text)
    return repr(value if len(value) <= 40 else value[:39] + "…")


def listed(values: Sequence[object], most: int = 3) -> str:
    """The first few of many values, and how many more there are."""
    more = f" and {len(values) - most:,} more" if len(values) > most else ""
    return ", ".join(map(shown, values[:most])) + more


def _header(content: bytes, name: str) -> list[str]:
    """The column names. Read before the body, so that a million columns cost nothing."""
    head = content[:_LONGEST_HEADER]
    if b"\0" in head:
        raise InvalidSubmission(f"{name} is not text: it holds zero bytes; write a CSV file in UTF-8.")
    line, newline, _ = head.partition(b"\n")
    if not newline and len(content) > _LONGEST_HEADER:
        raise InvalidSubmission(f"{name} is not a CSV table: its first line is over {_LONGEST_HEADER:,} bytes long.")
    try:
        return next(csv.reader(io.StringIO(line.decode().removesuffix("\r"), newline="\n"), strict=True), [])
    except UnicodeDecodeError:
        raise InvalidSubmission(f"{name} is not UTF-8 text.") from None
    except csv.Error as error:
        raise InvalidSubmission(f"{name} is not a CSV table: in its first line, {error}.") from None


def _check_header(header: list[str], columns: Collection[str], name: str, allow_more: bool) -> None:
    needed = f"the columns must be {', '.join(columns)}"
    if repeated := [column for column, times in Counter(header).items() if times > 1]:
        raise InvalidSubmission(f"{name} has column {listed(repeated)} more than once; {needed}.")
    if missing := [column for column in columns if column not in set(header)]:
        found = f"it has {listed(header, 6)}" if any(header) else "its first line is blank"
        raise InvalidSubmission(f"{name} lacks column {listed(missing)}: {found}, but {needed}.")
    if not allow_more and (unknown := [column for column in header if column not in set(columns)]):
        raise InvalidSubmission(f"{name} has unknown column {listed(unknown)}; {needed}.")


def _said(error: Exception) -> str:
    text = str(error)
    if "utf-8" in text.lower():
        return "it is not UTF-8 text"
    if "more fields" in text:
        return "a row has more values than the header has columns"
    return "a quoted value does not end, or something follows its closing quote"
