"""Submissions as the published grader reads them: text that is not a number is a missing value."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from assay.grading.submission.answers import ParsedSubmission
from assay.grading.submission.lenient import LenientTable
from assay.tasks import Column


def read(table: LenientTable) -> ParsedSubmission:
    """Accept any text where a number belongs."""

    def convert(series: pd.Series, rule: Column) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        values, valid = table.convert_numbers(series, rule)
        return values, valid | np.isnan(values)

    return table.parse(convert)
