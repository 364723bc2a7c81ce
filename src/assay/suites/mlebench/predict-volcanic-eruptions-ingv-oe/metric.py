"""The mean absolute error as the leaderboard reports it."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import InvalidSubmission
from assay.grading.metrics import metric, regression


@metric("mean absolute error", "lower", depends_on="values", range=(0, math.inf))
def mae(truth: NDArray[Any], prediction: NDArray[Any]) -> float:
    """The mean absolute error, rounded to the nearest integer, ties to even; an infinite one cannot be rounded."""
    error = regression.mae(truth, prediction)
    if np.isinf(error):
        raise InvalidSubmission("the mean absolute error is infinite, so it cannot be rounded to a whole number.")
    return float(np.round(error))
