"""Metrics of the distance between numbers. With several columns, the mean is over all numbers of all columns.

`mask` is true for the rows that count; without one, all do.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import InvalidSubmission
from assay.grading.metrics.combine import apply_mask, mean, mean_over_columns, mean_over_groups

RowMask = NDArray[Any] | None
# Rows of angles that fit the processor cache: this halves the time for ten million, and saves memory.
_BATCH = 1 << 14


def mae(truth: NDArray[Any], prediction: NDArray[Any], *, mask: RowMask = None, rounded: bool = False) -> float:
    """The mean absolute error: `mean(|prediction - truth|)`. NaN for no rows.

    `rounded` gives the nearest whole number, with ties to even, as predict-volcanic-eruptions-ingv-oe reports it; if
    the error is infinite, there is none, and the submission is invalid.
    """
    with np.errstate(over="ignore"):  # Numbers may be so large that their sum is infinite.
        error = mean(np.abs(apply_mask(mask, prediction) - apply_mask(mask, truth)))
    if rounded and np.isinf(error):
        raise InvalidSubmission("the mean absolute error is infinite, so it cannot be rounded to a whole number.")
    return float(np.round(error)) if rounded else error


def rmse(truth: NDArray[Any], prediction: NDArray[Any]) -> float:
    """The root of the mean squared error: `sqrt(mean((prediction - truth)²))`. NaN for no rows."""
    with np.errstate(over="ignore"):  # Numbers may be so large that their squares are infinite.
        return float(np.sqrt(mean((prediction - truth) ** 2)))


def rmsle(truth: NDArray[Any], prediction: NDArray[Any]) -> float:
    """The root of the mean squared error of logarithms: `sqrt(mean((log(1 + prediction) - log(1 + truth))²))`.

    NaN for no rows, and where a number is below -1, which has no such logarithm; -1 itself is infinitely wrong.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        return rmse(np.log1p(truth), np.log1p(prediction))


def smape(truth: NDArray[Any], prediction: NDArray[Any], *, plus: float = 0.0) -> float:
    """The symmetric mean absolute percentage error: `100 mean(|prediction - truth| / ((|truth| + |prediction|) / 2))`.

    Where both numbers are 0 the error is 0. From 0 for no error it goes to 200. NaN for no rows, and where a number is
    not finite. `plus` is added to both sides first: with 1 it is the SMAPE+1 of
    amp-parkinsons-disease-progression-prediction, whose numbers are never below 0.
    """
    truth, prediction = truth + plus, prediction + plus
    away, size = np.abs(prediction - truth), (np.abs(truth) + np.abs(prediction)) / 2
    with np.errstate(invalid="ignore"):
        return 100 * mean(np.where(size == 0, 0.0, away / np.where(size == 0, 1.0, size)))


def mean_column_rmsle(truth: NDArray[Any], prediction: NDArray[Any]) -> float:
    """The `rmsle` of each column, averaged. NaN where that of a column is."""
    return mean_over_columns(rmsle, truth, prediction)


def mcrmse(
    truth: NDArray[Any],
    prediction: NDArray[Any],
    *,
    mask: RowMask = None,
    ids: NDArray[Any] | None = None,
    submission_rows: NDArray[Any] | None = None,
) -> float:
    """The `rmse` of each column over the rows that count, averaged. NaN where none counts.

    The published grader of stanford-covid-vaccine looks up whether a predicted row counts by its place in the submitted
    file instead of its id, and then pairs the rows that are left, both sides in the order of their ids. To get that
    number, pass the rows in the order of the answers file, with their `ids`, and `submission_rows`, the place (from 0)
    that each has in the submitted file. A submission in the order of the answers is not affected. Values that are not
    finite are then allowed in rows that do not count, and make the submission invalid in others.
    """
    if (ids is None) != (submission_rows is None):
        raise ValueError("ids and submission_rows are given together or not at all")
    if mask is None or ids is None or submission_rows is None:
        return mean_over_columns(rmse, apply_mask(mask, truth), apply_mask(mask, prediction))
    order, misplaced = np.argsort(ids), mask[submission_rows]
    true, predicted = apply_mask(mask[order], truth[order]), apply_mask(misplaced[order], prediction[order])
    if not np.isfinite(predicted).all():
        raise InvalidSubmission("A row that counts has a value that is missing or not a finite number.")
    return mean_over_columns(rmse, true, predicted)


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


def mean_column_spearman(truth: NDArray[Any], prediction: NDArray[Any]) -> float:
    """The rank correlation of each column, averaged: `pearson` of the ranks, equal values sharing their mean rank.

    A column that is constant on either side, or holds a NaN, has no ranking to compare, and then the whole is NaN.
    """
    return mean_over_columns(
        lambda true, predicted: pearson(_mean_rank(true), _mean_rank(predicted)), truth, prediction
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


def laplace_log_likelihood(
    truth: NDArray[Any],
    prediction: NDArray[Any],
    *,
    mask: RowMask = None,
    confidence_floor: float = 70.0,
    error_cap: float = 1000.0,
) -> float:
    """The log likelihood of the truth under a Laplace distribution around predictions: `mean(-√2 e / s - log(√2 s))`.

    The first column is the value and the second how unsure it is, which only the prediction has: that of truth is not
    looked at. e is the absolute error, at most `error_cap`, and s the second column, at least `confidence_floor`.
    NaN where no row counts, or one that does lacks a number.
    """
    if len(truth) == 0:
        return float("nan")
    value, unsure = apply_mask(mask, prediction)[:, 0], apply_mask(mask, prediction)[:, 1]
    error = np.minimum(np.abs(value - apply_mask(mask, truth)[:, 0]), error_cap)
    spread = np.sqrt(2) * np.maximum(unsure, confidence_floor)
    return mean(-2 * error / spread - np.log(spread))


def mean_angular_error(truth: NDArray[Any], prediction: NDArray[Any]) -> float:
    """The mean angle between true and predicted directions, given as columns azimuth φ and zenith θ, all in radians.

    The angle is `arccos(sin θ sin θ' cos(φ - φ') + cos θ cos θ')`, whose rounding leaves about 1e-8 even between equal
    directions. NaN for no rows, and where an angle is not finite.
    """
    if len(truth) == 0:
        return float("nan")
    batches = [slice(start, start + _BATCH) for start in range(0, len(truth), _BATCH)]
    return float(sum(_angles(truth[batch], prediction[batch]).sum() for batch in batches) / len(truth))


def haversine_p50_p95(
    truth: NDArray[Any],
    prediction: NDArray[Any],
    *,
    groups: NDArray[Any],
    submission_rows: NDArray[Any] | None = None,
    earth_radius: float = 6_371_000.0,
) -> float:
    """The mean of the median and the 95th percentile of distances in meters in each group, averaged over groups.

    NaN for no rows, and where a coordinate is not finite.

    Columns are latitude and longitude in degrees. The distance is the great-circle one, by the haversine formula;
    percentiles between two rows are interpolated linearly. A group is one trip of one phone.

    The published grader of smartphone-decimeter-2022 ignores time: inside a trip it pairs the first true row with the
    first submitted one, and so on. Pass `submission_rows`, the place in the submission of each row, to get that number.
    """
    if submission_rows is not None:
        _, group = np.unique(groups, return_inverse=True)
        prediction, paired = np.empty_like(prediction), prediction
        prediction[np.argsort(group, kind="stable")] = paired[np.lexsort((submission_rows, group))]

    def mean_of_percentiles(true: NDArray[Any], predicted: NDArray[Any]) -> float:
        return float(np.quantile(_distance_on_sphere(true, predicted), [0.5, 0.95]).mean()) * earth_radius

    return mean_over_groups(mean_of_percentiles, groups, truth, prediction)


def _angles(truth: NDArray[Any], prediction: NDArray[Any]) -> NDArray[Any]:
    (azimuth, zenith), (given_azimuth, given_zenith) = truth.T, prediction.T
    with np.errstate(invalid="ignore"):
        # The cosine of the difference, written out: subtracting first would lose a small angle next to a huge one.
        turn = np.cos(azimuth) * np.cos(given_azimuth) + np.sin(azimuth) * np.sin(given_azimuth)
        cosine = np.sin(zenith) * np.sin(given_zenith) * turn + np.cos(zenith) * np.cos(given_zenith)
    angle: NDArray[Any] = np.arccos(np.clip(cosine, -1, 1))
    return angle


def _distance_on_sphere(start: NDArray[Any], end: NDArray[Any]) -> NDArray[Any]:
    """The angles in radians between points given as columns latitude and longitude in degrees.

    NaN where latitudes are so far beyond the poles that the formula has no value, as in the published grader.
    """
    (latitude, longitude), (end_latitude, end_longitude) = np.radians(start).T, np.radians(end).T
    with np.errstate(invalid="ignore"):
        north, east = np.sin((end_latitude - latitude) / 2) ** 2, np.sin((end_longitude - longitude) / 2) ** 2
        chord = north + np.cos(latitude) * np.cos(end_latitude) * east
        angle: NDArray[Any] = 2 * np.arcsin(np.sqrt(chord))
    return angle


def _direction(values: NDArray[Any]) -> NDArray[Any]:
    """Distances from the mean, as a vector of length 1, in the steps of SciPy, which decide the last digit.

    NaN for numbers so huge that their sum is infinite.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        away: NDArray[Any] = values - values.mean()
        largest = np.abs(away).max()
        away /= largest * np.linalg.norm(away / largest)
    return away


def _mean_rank(values: NDArray[Any]) -> NDArray[Any]:
    """The place of each value in ascending order, equal ones sharing their mean place; NaN everywhere if one is NaN."""
    if np.isnan(values).any():
        return np.full(len(values), np.nan)
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    mean_rank: NDArray[Any] = (np.cumsum(count) - (count - 1) / 2)[place]
    return mean_rank
