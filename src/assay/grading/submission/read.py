"""Reading and checking a submission table: the one way for grading and for validation.

Checking looks only at what is public: the form of the file, its columns, and the ids of the rows asked for. Every fault
is an `InvalidSubmission` with one sentence.
"""

from pathlib import Path

import numpy as np

from assay.core.errors import InvalidSubmission
from assay.core.text import quote
from assay.grading.submission.answers import Answers, key_of
from assay.grading.submission.fast_path import check_table, plain_table
from assay.grading.submission.file_signatures import refuse_other_kinds
from assay.grading.submission.parsed import ParsedSubmission
from assay.grading.submission.safe_open import open_submission
from assay.grading.submission.strict_rows import in_order
from assay.grading.submission.strict_values import typed
from assay.grading.submission.table import ROW, parse_table

_LARGE = 2**20
"""Bytes from which it is worth the while to let polars read a file by itself."""


def check(source: bytes | Path, name: str, answers: Answers) -> ParsedSubmission:
    """The submission, checked by the rules of the answers' task, and put into the order of the answers."""
    submission = answers.task.submission
    if submission.lenient and Path(name).suffix.lower() != ".csv":
        raise InvalidSubmission(f"{name} is not called a CSV file: its name must end in .csv.")
    with open_submission(source, name, submission.max_size) as file:
        refuse_other_kinds(file.content, name)
        columns = plain_table(file.content, answers, file.path if len(file.content) >= _LARGE else None)
        if columns is not None and (checked := check_table(columns, answers)) is not None:
            return checked
        content = file.read()
    if submission.lenient:
        from assay.grading.submission.lenient import check_as_published

        return check_as_published(content, name, answers)
    return check_strictly(content, name, answers)


def check_strictly(content: bytes, name: str, answers: Answers) -> ParsedSubmission:
    """The submission in `content`, checked one rule after the other, so that the first that is broken can be named."""
    submission, asked = answers.task.submission, answers.ids
    columns = [*([submission.id] if submission.id else []), *submission.id_with, *submission.columns]
    table = parse_table(content, columns, name, allow_more=submission.more_columns, order=submission.order)
    rows = None
    if asked is not None:
        table, rows = in_order(table, key_of(table, submission), asked, submission.ids, name)
    elif len(table) != len(answers.table):
        raise InvalidSubmission(f"{name} has {len(table):,} rows; {len(answers.table):,} are needed.")

    def where(row: int) -> str:
        if asked is None:
            return f"row {table[ROW][row]}"
        return f"{asked.name} {quote(asked[row if rows is None else int(rows[row])])}"

    values = {column: typed(table[column], rule, name, where) for column, rule in submission.columns.items()}
    places = table[ROW].rank("ordinal").to_numpy().astype(np.int64) - 1
    return (
        ParsedSubmission(values, rows, places).finished(answers, name, where).counted(answers.skipped(published=False))
    )
