"""Reading and checking a submission as the published graders do, which take what pandas makes of a file.

A name that the first line has twice gets a number, a row with one value too many makes the first column an index,
`007` is the number 7, `NA` is nothing. Whatever would make a published grader fail is an `InvalidSubmission` with one
sentence of ours.
"""

import csv
import io
import warnings
from collections.abc import Sequence

import numpy as np
import pandas as pd

from assay.core.errors import InvalidSubmission
from assay.core.text import quote, quote_some
from assay.data import pandas_tables
from assay.grading.submission.answers import Answers
from assay.grading.submission.lenient_rows import paired
from assay.grading.submission.lenient_values import frame_values
from assay.grading.submission.parsed import ParsedSubmission
from assay.grading.submission.table import LONGEST_HEADER, check_header, refuse_hollow
from assay.tasks import Submission

_ALLCLOSE = 1.001e-5
_MOST_INDEXES = 100  # columns without a name that pandas may take for indexes: one is common, more are a mistake
_TOO_LONG = "a row has more values than the header has columns"


def check_as_published(content: bytes, name: str, answers: Answers) -> ParsedSubmission:
    """The submission in `content`, checked by the rules of an edition that reads as the published graders do."""
    submission = answers.task.submission
    frame = read_frame(content, name)
    found = _columns(frame, submission, name)
    ids, asked = (one[submission.id] if submission.by_id else None for one in (frame, answers.frame))
    counts = len(frame), len(answers.frame)
    rows, places = paired(ids, asked, counts, submission.ids, answers.skipped(published=True), name)

    def where(row: int) -> str:
        place = int(places[row])
        return f"row {place + 1}" if ids is None else f"{submission.id} {quote(ids.iloc[place])}"

    values = {}
    for column, rule in submission.columns.items():
        if rule.scored:
            submitted, true = frame[found[column]].iloc[places], answers.frame[rule.answer or column]
            values[column] = frame_values(submitted, column, rule, true, name, where)
    if submission.row_sum and submission.row_sum.more_columns:
        _check_further(frame.drop(columns=[*found.values(), *([submission.id] if ids is not None else [])]), name)
    return ParsedSubmission(values, rows, places, published=True).finished(answers, name, where)


def read_frame(content: bytes, name: str, *, wanted: Sequence[str] = ()) -> pd.DataFrame:
    """The table in `content` as the published graders read it, with text as Python text; `name` is for messages.

    It must have the columns `wanted`, and at least one row.
    """
    _refuse_huge(content, name)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pd.errors.DtypeWarning)  # Mixed types are judged where they matter.
            frame = pandas_tables.read(io.BytesIO(content))
    except pd.errors.EmptyDataError:
        raise InvalidSubmission(f"{name} has no columns: it is blank.") from None
    except UnicodeDecodeError:
        raise InvalidSubmission(f"{name} is not UTF-8 text.") from None
    except (ValueError, OverflowError, IndexError) as error:  # ParserError is a ValueError
        raise InvalidSubmission(f"{name} is not a CSV table: {_said(error)}.") from None
    if wanted:
        check_header(list(map(str, frame.columns)), wanted, name, allow_more=True)
    if frame.empty:
        raise InvalidSubmission(f"{name} has a header but no rows.")
    texts = [column for column in frame.columns if isinstance(frame[column].dtype, pd.StringDtype)]
    return frame.reset_index(drop=True).astype(dict.fromkeys(texts, object))


def _refuse_huge(content: bytes, name: str) -> None:
    """Refuse what would take far more time and memory than its size: endless first lines, and rows of other lengths."""
    beginning = content[:LONGEST_HEADER].decode(errors="replace")
    lines = io.StringIO(beginning, newline="")
    records = (values for values in csv.reader(lines) if values)
    header: list[str] = next(records, [])
    if len(content) > LONGEST_HEADER and lines.tell() == len(beginning):
        raise InvalidSubmission(f"{name} is not a CSV table: its first line is over {LONGEST_HEADER:,} bytes long.")
    if len(next(records, [])) > len(header) + _MOST_INDEXES:
        raise InvalidSubmission(f"{name} is not a CSV table: {_TOO_LONG}.")
    refuse_hollow(content, len(header), name)


def _columns(frame: pd.DataFrame, submission: Submission, name: str) -> dict[str, str]:
    """Where in the frame each column stands that is asked for."""
    header = list(map(str, frame.columns))
    found = {}
    for column, rule in submission.columns.items():
        names = [one for one in (column, *rule.aliases) if one in header]
        if len(names) > 1:
            raise InvalidSubmission(
                f"{name} has columns {quote_some(names)}, which stand for the same; hand in one of them."
            )
        found[column] = names[0] if names else column
    keys = [submission.id, *submission.id_with] if submission.id else []
    needed = keys if submission.by_id else [key for key in keys if key in header]
    allow_more = submission.more_columns and not submission.by_position
    check_header(header, [*needed, *found.values()], name, allow_more=allow_more, order=submission.order)
    if submission.by_position:
        return dict(zip(found, (column for column in header if column not in needed), strict=True))
    return found


def _check_further(columns: pd.DataFrame, name: str) -> None:
    """Refuse further columns that are no numbers, or add to the rows' sums."""
    for column in columns:
        values = pd.to_numeric(columns[column], errors="coerce").to_numpy(np.float64)
        if not ((values >= 0) & (values <= _ALLCLOSE)).all():
            raise InvalidSubmission(f"{name}: column {quote(column)} was not asked for and adds to the sum of its row.")


def _said(error: Exception) -> str:
    text = str(error)
    if "fields in line" in text:
        return _TOO_LONG
    if "EOF inside string" in text:
        return "a quoted value does not end"
    return "its rows cannot be told apart"
