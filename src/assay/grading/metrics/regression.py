"""Metrics of the distance between numbers. With several columns, the mean is over all numbers of all columns."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.grading.metrics import metric
from assay.grading.metrics.combine import mean, mean_over_columns


@metric("mean absolute error", "lower", depends_on="values", range=(0, math.inf))
def mae(truth: NDArray[Any], prediction: NDArray[Any]) -> float:
    """The mean absolute error: `mean(|prediction - truth|)`. NaN for no rows."""
    with np.errstate(over="ignore"):  # Numbers may be so large that their sum is infinite.
        return mean(np.abs(prediction - truth))


@metric("root mean squared error", "lower", depends_on="values", range=(0, math.inf))
def rmse(truth: NDArray[Any], prediction: NDArray[Any]) -> float:
    """The root of the mean squared error: `sqrt(mean((prediction - truth)²))`. NaN for no rows."""
    with np.errstate(over="ignore"):  # Numbers may be so large that their squares are infinite.
        return float(np.sqrt(mean((prediction - truth) ** 2)))


@metric("root mean squared logarithmic error", "lower", depends_on="values", range=(0, math.inf))
def rmsle(truth: NDArray[Any], prediction: NDArray[Any]) -> float:
    """The root of the mean squared error of logarithms: `sqrt(mean((log(1 + prediction) - log(1 + truth))²))`.

    NaN for no rows, and where a number is below -1, which has no such logarithm; -1 itself is infinitely wrong.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        return rmse(np.log1p(truth), np.log1p(prediction))


@metric("mean column-wise root mean squared error", "lower", depends_on="values", range=(0, math.inf))
def mcrmse(truth: NDArray[Any], prediction: NDArray[Any]) -> float:
    """The `rmse` of each column, averaged. NaN for no rows."""
    return mean_over_columns(rmse, truth, prediction)


@metric("Pearson correlation coefficient", "higher", depends_on="values", range=(-1, 1))
def pearson(truth: NDArray[Any], prediction: NDArray[Any], *, constant: float = float("nan")) -> float:
    """The linear correlation: `sum(t p) / sqrt(sum(t²) sum(p²))`, where t and p are the distances from the mean.

    NaN where either side is constant (so also for fewer than two rows) or holds a number that is not finite.
    `constant` is the score of a constant prediction if truth is not constant.
    """
    truth, prediction = truth.astype(np.float64), prediction.astype(np.float64)
    if len(truth) and np.isfinite(prediction).all() and np.ptp(prediction) == 0 and np.ptp(truth) > 0:
        return constant
    for values in (truth, prediction):
        if not np.isfinite(values).all() or (values == values[:1]).all():
            return float("nan")
    return float(np.clip(np.dot(_direction(truth), _direction(prediction)), -1, 1))


def _direction(values: NDArray[Any]) -> NDArray[Any]:
    """Distances from the mean, as a vector of length 1, in the steps of SciPy, which decide the last digit.

    NaN for numbers so huge that their sum is infinite.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        away: NDArray[Any] = values - values.mean()
        largest = np.abs(away).max()
        away /= largest * np.linalg.norm(away / largest)
    return away
