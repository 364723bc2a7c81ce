"""Submissions as the published grader reads them: the sum of a row is over all columns, and rounded by Python."""

import numpy as np
import pandas as pd

from assay.core.errors import InvalidSubmission
from assay.core.text import quote
from assay.grading.submission.answers import ParsedSubmission
from assay.grading.submission.lenient import LenientTable


def read(table: LenientTable) -> ParsedSubmission:
    """Check the sums of the votes, then those with the columns that were not asked for."""
    parsed = table.parse()
    sums = np.nansum(np.vstack(list(parsed.columns.values())), axis=0)
    # NumPy's product with a power of ten may fall on the other side of a half.
    table.check_sums(parsed, sums, np.array([round(total, 5) == 1 for total in sums.tolist()]))
    extra = table.matched(parsed).drop(columns=["eeg_id", *parsed.columns])
    sums = np.nansum(np.column_stack(list(parsed.columns.values())), axis=1)
    for column in extra:
        series = extra[column]
        is_number = pd.api.types.is_numeric_dtype(series.dtype) and series.dtype != bool
        values = series.fillna(0).to_numpy(np.float64) if is_number else np.full(len(series), np.nan)
        sums = sums + values
        if not (is_number and (values >= 0).all() and np.allclose(sums, 1)):
            raise InvalidSubmission(
                f"{table.name}: column {quote(column)} is not needed and adds to the sum of its row."
            )
    return parsed
