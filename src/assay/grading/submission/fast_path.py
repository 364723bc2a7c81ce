"""The quick road: tables with nothing wrong or unusual in them, by far the most, are checked without explanations.

It may decline any table, which the careful road of its edition then judges. What it accepts, that road accepts too,
with the same values. For an edition that reads as the published graders do, this means that pandas would find nothing
to interpret: no quotes, no blanks, no missing words, ids that are equal as text, classes of one kind.
"""

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay.core.errors import InvalidSubmission
from assay.grading.submission.answers import Answers
from assay.grading.submission.id_matching import Places, places_of
from assay.grading.submission.pandas_rules import MOST_COLUMNS, classes_of, kind_of_ids
from assay.grading.submission.parsed import ParsedSubmission
from assay.grading.submission.strict_values import typed
from assay.grading.submission.table import Content, pieces_of, plain_header, read_quickly
from assay.tasks import Column, Submission

Columns = dict[str, pl.Series]

_JOINED = ("join", "subset", "superset", "ids_subset_sorted")
_BEYOND_WHOLE_NUMBERS = 2.0**63


def may_be_quick(submission: Submission) -> bool:
    """Whether the rules leave room for this road at all."""
    of_text = any(rule.type == "text" or rule.codec or rule.missing != "refuse" for rule in submission.columns.values())
    return not submission.id_with and not (submission.lenient and of_text)


def check_quickly(content: bytes, answers: Answers) -> ParsedSubmission | None:
    """The submission in `content`, checked; None if it takes a closer look."""
    table = plain_table(content, answers)
    return None if table is None else check_table(table, answers)


def plain_table(content: Content, answers: Answers, address: str | None = None) -> Columns | None:
    """The columns of the table in `content`, if it is so plain that this road may be taken.

    `address` is where the same content can be read from by others.
    """
    submission = answers.task.submission
    if not may_be_quick(submission) or (submission.lenient and answers.width > MOST_COLUMNS):
        return None
    wanted = _wanted(content, submission)
    if wanted is None:
        return None
    numeric = [name for name, rule in submission.columns.items() if _is_numeric(rule)]
    table = read_quickly(content, wanted, numeric, address=address, more=submission.more_columns)
    return None if table is None else {column.name: column for column in table}


def check_table(columns: Columns, answers: Answers) -> ParsedSubmission | None:
    """The values of a plain table in the order of the answers; None if it takes a closer look.

    Ids, which take the most memory, are taken out of `columns` and let go before values are looked at.
    """
    submission, places = answers.task.submission, None
    if len(next(iter(columns.values()))) != len(answers.table):
        return None
    if (asked := answers.ids) is not None and (wanted := answers.hashes) is not None:
        ids = columns.pop(asked.name)
        # Nobody gains by an id that only has the hash of the right one, and two with the same hash are noticed.
        found = ids.hash().to_numpy()
        if not np.array_equal(found, wanted):
            places = places_of(wanted, found)
            if places is None:
                return None
        if not _paired_alike(ids, asked, submission, shuffled=places is not None):
            return None
        del ids
    try:
        return _checked(columns, places, answers)
    except InvalidSubmission:
        return None


def _wanted(content: Content, submission: Submission) -> list[str] | None:
    """The columns to read; None where the bytes are too unusual for this road."""
    named = submission.id is not None and (submission.by_id or not submission.lenient)
    wanted = [*([str(submission.id)] if named else []), *submission.columns]
    header = plain_header(content)
    if header is None or any(alias in header for rule in submission.columns.values() for alias in rule.aliases):
        return None
    if (submission.by_position or submission.order != "any") and header != wanted:
        return None
    if submission.lenient:
        unusual = content[:3] == b"\xef\xbb\xbf" or any(content.find(mark) >= 0 for mark in (b'"', b"\r", b"\0"))
        # Polars does not look at the bytes of columns that nobody asks for.
        unread = len(header) > len(wanted) and not all(piece.isascii() for piece in pieces_of(content))
        further_sum = submission.row_sum is not None and submission.row_sum.more_columns and len(header) > len(wanted)
        if unusual or unread or further_sum or not 2 <= len(header) <= MOST_COLUMNS:
            return None
    return wanted


def _paired_alike(ids: pl.Series, asked: pl.Series, submission: Submission, *, shuffled: bool) -> bool:
    """Whether the careful road pairs rows that have the same ids as text just so."""
    joined = submission.ids in _JOINED
    if joined and asked.is_duplicated().any():
        return False
    if not submission.lenient:
        return True
    kind = kind_of_ids(asked)
    if kind is None or (shuffled and kind_of_ids(ids) != kind):
        return False
    if kind == "text" or not (shuffled or joined):
        return True
    # Texts that differ may be the same number; that does not matter while both sides are in the same order.
    return asked.str.strip_chars().cast(pl.Float64).n_unique() == len(asked)


def _checked(columns: Columns, places: Places | None, answers: Answers) -> ParsedSubmission | None:
    submission, found = answers.task.submission, {}
    for name, rule in submission.columns.items():
        values = _values(columns[name], rule, answers.table[rule.answer or name] if rule.scored else None, submission)
        if values is None:
            return None
        # Copied first: numpy's own memory is quicker to pick from than polars'.
        found[name] = values if places is None else values.copy().take(places)
    checked = (
        ParsedSubmission(found, places=places).finished(answers, "", str).counted(answers.skipped(published=False))
    )
    return checked if len(next(iter(checked.columns.values()))) else None


def _values(text: pl.Series, rule: Column, truth: pl.Series | None, submission: Submission) -> NDArray[Any] | None:
    """The values of a column; None, or `InvalidSubmission`, where they take a closer look."""
    if not submission.lenient:
        return typed(text, rule, "", str)
    if rule.type in ("number", "integer"):
        numbers = typed(text, rule, "", str)
        return numbers if (np.abs(numbers) < _BEYOND_WHOLE_NUMBERS).all() else None
    if truth is None:
        return text.to_numpy()
    values, true = classes_of(text), classes_of(truth)
    alike = values is not None and true is not None and values.dtype.kind == true.dtype.kind
    return values if alike else None


def _is_numeric(rule: Column) -> bool:
    return rule.type in ("number", "integer") and rule.codec is None
