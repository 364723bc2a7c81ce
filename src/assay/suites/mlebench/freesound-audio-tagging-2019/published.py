"""Submissions as the published grader reads them: numbers by pandas' `to_numeric`, and never booleans alone."""

import re
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from assay.core.errors import InvalidSubmission
from assay.grading.submission.answers import ParsedSubmission
from assay.grading.submission.lenient import LenientTable
from assay.tasks import Column


def read(table: LenientTable) -> ParsedSubmission:
    """Refuse a table that pandas reads as booleans, which have no ranks, and convert the others."""
    columns = table.answers.task.submission.columns
    if all(column in table.frame and table.frame[column].dtype == bool for column in columns):
        raise InvalidSubmission(f"{table.name} holds only true and false; the columns must hold numbers.")
    return table.parse(_convert)


def _convert(series: pd.Series, rule: Column) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    values = pd.to_numeric(series, errors="coerce").to_numpy(np.float64)
    if series.dtype == object:
        values = np.where([_is_too_large(value) for value in series], np.nan, values)
    return values, series.isna().to_numpy() | ~np.isnan(values)


def _is_too_large(value: Any) -> bool:
    """Whether a cell of a column of text is a number that pandas 2.2 refuses to convert."""
    if not isinstance(value, str):
        return False
    if re.fullmatch(r"\s*[+-]?\d+\s*", value, re.ASCII):
        return len(value) > 64 or not -(2**63) <= int(value) < 2**64
    return bool(re.search(r"\d", value)) and bool(np.isinf(pd.to_numeric(value, errors="coerce")))
