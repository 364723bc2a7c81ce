"""Metrics of the distance between numbers. With several columns, the mean is over all numbers of all columns."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def mae(truth: NDArray[Any], prediction: NDArray[Any]) -> float:
    """The mean absolute error: `mean(|prediction - truth|)`. NaN for no rows."""
    return _mean(np.abs(prediction - truth))


def rmse(truth: NDArray[Any], prediction: NDArray[Any]) -> float:
    """The root of the mean squared error: `sqrt(mean((prediction - truth)²))`. NaN for no rows."""
    return float(np.sqrt(_mean((prediction - truth) ** 2)))


def rmsle(truth: NDArray[Any], prediction: NDArray[Any]) -> float:
    """The root of the mean squared error of logarithms: `sqrt(mean((log(1 + prediction) - log(1 + truth))²))`.

    NaN for no rows, and where a number is below -1, which has no such logarithm; -1 itself is infinitely wrong.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        return rmse(np.log1p(truth), np.log1p(prediction))


def _mean(values: NDArray[Any]) -> float:
    return float(np.mean(values)) if values.size else float("nan")
