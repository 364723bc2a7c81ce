"""Metrics of the distance between numbers. With several columns, the mean is over all numbers of all columns.

`mask` is true for the rows that count; without one, all do.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.grading.metrics.combine import masked, mean_over_columns, mean_over_groups

Mask = NDArray[Any] | None


def mae(truth: NDArray[Any], prediction: NDArray[Any], *, mask: Mask = None, rounded: bool = False) -> float:
    """The mean absolute error: `mean(|prediction - truth|)`. NaN for no rows.

    `rounded` gives the nearest whole number, as predict-volcanic-eruptions-ingv-oe reports it; halves go to the even one.
    """
    error = _mean(np.abs(masked(mask, prediction) - masked(mask, truth)))
    return float(np.round(error)) if rounded else error


def rmse(truth: NDArray[Any], prediction: NDArray[Any]) -> float:
    """The root of the mean squared error: `sqrt(mean((prediction - truth)²))`. NaN for no rows."""
    return float(np.sqrt(_mean((prediction - truth) ** 2)))


def rmsle(truth: NDArray[Any], prediction: NDArray[Any]) -> float:
    """The root of the mean squared error of logarithms: `sqrt(mean((log(1 + prediction) - log(1 + truth))²))`.

    NaN for no rows, and where a number is below -1, which has no such logarithm; -1 itself is infinitely wrong.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        return rmse(np.log1p(truth), np.log1p(prediction))


def mean_column_rmsle(truth: NDArray[Any], prediction: NDArray[Any]) -> float:
    """The `rmsle` of each column, averaged. NaN where that of a column is."""
    return mean_over_columns(rmsle, truth, prediction)


def mcrmse(
    truth: NDArray[Any],
    prediction: NDArray[Any],
    *,
    mask: Mask = None,
    ids: NDArray[Any] | None = None,
    submission_rows: NDArray[Any] | None = None,
) -> float:
    """The `rmse` of each column over the rows that count, averaged. NaN where none counts.

    The published grader of stanford-covid-vaccine looks up whether a predicted row counts not by its id but by its place
    in the submitted file, and then pairs the rows that are left, both sides in the order of their ids. Pass both `ids`
    and `submission_rows`, the 0-based place in the submission of the row with that id, to get that number; rows are then
    in the order of the answers file. A submission in that order is not affected.
    """
    if (ids is None) != (submission_rows is None):
        raise ValueError("ids and submission_rows are given together or not at all")
    if mask is None or ids is None or submission_rows is None:
        return mean_over_columns(rmse, masked(mask, truth), masked(mask, prediction))
    order, misplaced = np.argsort(ids), mask[submission_rows]
    true, predicted = masked(mask[order], truth[order]), masked(misplaced[order], prediction[order])
    return mean_over_columns(rmse, true, predicted)


def pearson(truth: NDArray[Any], prediction: NDArray[Any]) -> float:
    """The linear correlation: `sum(t p) / sqrt(sum(t²) sum(p²))`, where t and p are the distances from the mean.

    NaN where either side is constant (so also for fewer than two rows) or holds a number that is not finite.
    """
    if len(truth) == 0 or not (np.isfinite(truth).all() and np.isfinite(prediction).all()):
        return float("nan")
    if np.ptp(truth) == 0 or np.ptp(prediction) == 0:
        return float("nan")
    return float(np.clip(np.dot(_direction(truth), _direction(prediction)), -1, 1))


def mean_column_spearman(truth: NDArray[Any], prediction: NDArray[Any]) -> float:
    """The rank correlation of each column, averaged: `pearson` of the ranks, equal values sharing their mean rank.

    A column that is constant on either side, or holds a NaN, has no ranking to compare, and then the whole is NaN.
    """
    return mean_over_columns(lambda true, given: pearson(_mean_rank(true), _mean_rank(given)), truth, prediction)


def grouped_log_mae(
    truth: NDArray[Any], prediction: NDArray[Any], *, groups: NDArray[Any], floor: float = 1e-9
) -> float:
    """The natural logarithm of each group's `mae`, averaged over groups: `mean(log(max(mae, floor)))`. NaN for no rows.

    The published grader of champs-scalar-coupling has no floor (0): one perfect group makes the whole minus infinity.
    """

    def log_mae(true: NDArray[Any], given: NDArray[Any]) -> float:
        return float(np.log(np.maximum(mae(true, given), floor)))

    with np.errstate(divide="ignore"):
        return mean_over_groups(log_mae, groups, truth, prediction)


def laplace_log_likelihood(
    truth: NDArray[Any],
    prediction: NDArray[Any],
    *,
    mask: Mask = None,
    confidence_floor: float = 70.0,
    error_cap: float = 1000.0,
) -> float:
    """How likely the truth is under a Laplace distribution around each prediction: `mean(-√2 e / s - log(√2 s))`.

    The first column is the value and the second how unsure it is, which only the prediction has: that of truth is not
    looked at. e is the absolute error, at most `error_cap`, and s the second column, at least `confidence_floor`.
    NaN where no row counts, or one that does lacks a number.
    """
    if len(truth) == 0:
        return float("nan")
    value, unsure = masked(mask, prediction)[:, 0], masked(mask, prediction)[:, 1]
    error = np.minimum(np.abs(value - masked(mask, truth)[:, 0]), error_cap)
    spread = np.sqrt(2) * np.maximum(unsure, confidence_floor)
    return _mean(-2 * error / spread - np.log(spread))


def _direction(values: NDArray[Any]) -> NDArray[Any]:
    """Distances from the mean, as a vector of length 1. Scaling first keeps huge and tiny numbers in range."""
    away = values.astype(np.float64) / np.abs(values).max()
    away -= away.mean()
    away /= np.abs(away).max()
    return away / np.linalg.norm(away)


def _mean_rank(values: NDArray[Any]) -> NDArray[Any]:
    """The place of each value in ascending order, equal ones sharing their mean place; NaN everywhere if one is NaN."""
    if np.isnan(values).any():
        return np.full(len(values), np.nan)
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    mean_rank: NDArray[Any] = (np.cumsum(count) - (count - 1) / 2)[place]
    return mean_rank


def _mean(values: NDArray[Any]) -> float:
    return float(np.mean(values)) if values.size else float("nan")
