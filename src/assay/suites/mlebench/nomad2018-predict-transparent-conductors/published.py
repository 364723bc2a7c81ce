"""Submissions as the published grader reads them: NumPy takes the logarithm of booleans in half precision."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from assay.grading.submission.answers import ParsedSubmission
from assay.grading.submission.lenient import LenientTable
from assay.tasks import Column


def read(table: LenientTable) -> ParsedSubmission:
    """Replace a column of booleans by the numbers that have these logarithms."""
    return table.parse(_convert_numbers)


def _convert_numbers(series: pd.Series, rule: Column) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    values, valid = LenientTable.convert_numbers(series, rule)
    if series.dtype == bool:
        values = np.expm1(np.log1p(series.to_numpy()).astype(np.float64))
    return values, valid
