"""Likelihood of values that come with a confidence."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.grading.metrics import metric
from assay.grading.metrics.combine import mean


@metric("modified Laplace log likelihood", "higher", depends_on="values", range=(-math.inf, math.inf))
def laplace_log_likelihood(
    truth: NDArray[Any],
    prediction: NDArray[Any],
    *,
    confidence_floor: float = 70.0,
    error_cap: float = 1000.0,
) -> float:
    """The log likelihood of the truth under a Laplace distribution around predictions: `mean(-√2 e / s - log(√2 s))`.

    The first column is the value and the second how unsure it is, which only the prediction has: that of truth is not
    looked at. e is the absolute error, at most `error_cap`, and s the second column, at least `confidence_floor`.
    NaN for no rows, or where one lacks a number.
    """
    if len(truth) == 0:
        return float("nan")
    value, unsure = prediction[:, 0], prediction[:, 1]
    error = np.minimum(np.abs(value - truth[:, 0]), error_cap)
    spread = np.sqrt(2) * np.maximum(unsure, confidence_floor)
    return mean(-2 * error / spread - np.log(spread))
