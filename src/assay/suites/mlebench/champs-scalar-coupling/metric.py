"""Logarithms of the errors of groups."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.grading.metrics import metric
from assay.grading.metrics.combine import mean_over_groups
from assay.grading.metrics.regression import mae


@metric(
    "mean over groups of the logarithm of the mean absolute error",
    "lower",
    depends_on="values",
    range=(-math.inf, math.inf),
)
def grouped_log_mae(
    truth: NDArray[Any], prediction: NDArray[Any], *, groups: NDArray[Any], floor: float = 1e-9
) -> float:
    """The natural logarithm of each group's `mae`, averaged over groups: `mean(log(max(mae, floor)))`. NaN for no rows.

    The published grader of champs-scalar-coupling has no floor (0): one perfect group makes the whole minus infinity.
    """

    def log_mae(true: NDArray[Any], predicted: NDArray[Any]) -> float:
        return float(np.log(np.maximum(mae(true, predicted), floor)))

    with np.errstate(divide="ignore"):
        return mean_over_groups(log_mae, groups, truth, prediction)
