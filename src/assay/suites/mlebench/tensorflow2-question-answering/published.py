"""Submissions as the published grader reads them: pandas does not replace gaps in columns of numbers by empty text."""

import pandas as pd

from assay.core.errors import InvalidSubmission
from assay.core.text import quote
from assay.grading.submission.answers import ParsedSubmission
from assay.grading.submission.lenient import LenientTable


def read(table: LenientTable) -> ParsedSubmission:
    """Refuse missing values in any column that pandas reads as numbers."""
    for column in table.frame:
        series = table.frame[column]
        if pd.api.types.is_numeric_dtype(series.dtype) and series.isna().any():
            values = "only missing values" if series.isna().all() else "numbers and missing values"
            raise InvalidSubmission(
                f"{table.name}: column {quote(column)} holds {values}, which cannot be read as text."
            )
    return table.parse()
