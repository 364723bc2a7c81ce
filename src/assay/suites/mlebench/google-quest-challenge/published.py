"""Submissions as the published grader reads them: SciPy ranks text, too, alphabetically."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from assay.grading.submission.answers import ParsedSubmission
from assay.grading.submission.lenient import LenientTable
from assay.tasks import Column


def read(table: LenientTable) -> ParsedSubmission:
    """Replace columns that hold text by the ranks of their values; none has a rank where one is missing."""

    def convert(series: pd.Series, rule: Column) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        if series.dtype != object:
            return table.convert_numbers(series, rule)
        ranks = np.full(len(series), np.nan) if series.isna().any() else series.rank().to_numpy(np.float64)
        return ranks, np.ones(len(series), bool)

    return table.parse(convert)
