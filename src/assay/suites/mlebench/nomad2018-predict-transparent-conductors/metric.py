"""Errors of logarithms, column by column."""

import math
from typing import Any

from numpy.typing import NDArray

from assay.grading.metrics import metric
from assay.grading.metrics.combine import mean_over_columns
from assay.grading.metrics.regression import rmsle


@metric("mean column-wise root mean squared logarithmic error", "lower", depends_on="values", range=(0, math.inf))
def mean_column_rmsle(truth: NDArray[Any], prediction: NDArray[Any]) -> float:
    """The `rmsle` of each column, averaged. NaN where that of a column is."""
    return mean_over_columns(rmsle, truth, prediction)
