"""Metrics of order: whether what is true is scored above what is not."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import InvalidSubmission
from assay.grading.metrics.classification import roc_auc, roc_curve
from assay.grading.metrics.combine import apply_mask, mean_over_columns


def mean_column_roc_auc(truth: NDArray[Any], prediction: NDArray[Any], *, unscored: float | None = None) -> float:
    """The plain mean of the columns' ROC AUC. NaN where a column of truth holds only one class.

    Rows of truth that hold the value `unscored` are left out: -1 in jigsaw-toxic-comment-classification-challenge.
    """
    if unscored is not None:
        scored = (truth != unscored).all(axis=tuple(range(1, truth.ndim)))
        truth, prediction = apply_mask(scored, truth), apply_mask(scored, prediction)
    return mean_over_columns(roc_auc, truth, prediction)


def weighted_roc_auc(
    truth: NDArray[Any],
    prediction: NDArray[Any],
    *,
    thresholds: Sequence[float] = (0.0, 0.4, 1.0),
    weights: Sequence[float] = (2.0, 1.0),
) -> float:
    """ROC AUC in which bands of the true positive rate weigh differently.

    The ROC curve has straight lines between its points, and `thresholds` cut it into bands of the true positive rate t.
    A band's area is the integral over t of `1 - false positive rate at t`; the score is the sum of `weight * area` over
    that of `weight * height`, so 1 is perfect, and with a single band it is the ROC AUC. A constant prediction has
    `0.82 / 1.4` by the default bands, which are those of alaska2-image-steganalysis. NaN where truth holds only one
    class.
    """
    positive = truth.astype(bool)
    if positive.all() or not positive.any():
        return float("nan")
    false_rate, hit_rate = roc_curve(positive, prediction.astype(np.float64))
    for cut in thresholds:
        if cut not in hit_rate:
            end = int(np.argmax(hit_rate > cut))
            (before, after), (low, high) = false_rate[end - 1 : end + 1], hit_rate[end - 1 : end + 1]
            between = before + (after - before) * (cut - low) / (high - low)
            false_rate, hit_rate = np.insert(false_rate, end, between), np.insert(hit_rate, end, cut)
    area = 0.0
    for floor, top, weight in zip(thresholds[:-1], thresholds[1:], weights, strict=True):
        band = (floor <= hit_rate) & (hit_rate <= top)
        heights = np.append(hit_rate[band], top) - floor
        area += weight * float(np.trapezoid(heights, np.append(false_rate[band], 1)))
    return area / float(np.dot(np.diff(thresholds), weights))


def jigsaw_bias_auc(
    truth: NDArray[Any],
    prediction: NDArray[Any],
    *,
    identities: NDArray[Any],
    threshold: float = 0.5,
    power: float = -5.0,
    threshold_predictions: bool = False,
    refuse_zero_auc: bool = False,
) -> float:
    """ROC AUC over all rows, and over rows chosen to show a bias about an identity, in equal parts.

    A row is toxic where truth is at least `threshold`, and speaks of an identity where that one's column of
    `identities` is; a missing identity is not. For each identity three ROC AUCs are taken: over the rows that speak of
    it (subgroup); over the non-toxic of those and the toxic others (background positive, subgroup negative); over the
    toxic of those and the non-toxic others (background negative, subgroup positive). Each kind is summed up by the mean
    of order `power` over identities, `mean(auc^power)^(1/power)`, and the score is the plain mean of the overall AUC
    and the three. NaN where one of the choices has rows of only one class.

    `threshold_predictions` replaces predictions by whether they are at least `threshold`, which throws their order
    away. The published grader of jigsaw-unintended-bias-in-toxicity-classification does so, and it fails where an
    identity's AUC is 0, which has no negative power, or has no rows: with `refuse_zero_auc` this is an
    `InvalidSubmission`.
    """
    toxic = truth >= threshold
    score = prediction >= threshold if threshold_predictions else prediction
    parts = [roc_auc(toxic, score)]
    speaks_of = np.atleast_2d(identities.T) >= threshold
    for choice in (speaks_of, speaks_of != toxic, speaks_of == toxic):
        areas = np.array([roc_auc(toxic[rows], score[rows]) for rows in choice])
        if refuse_zero_auc and not (areas.all() and choice.any(axis=1).all()):
            raise InvalidSubmission("the ROC AUC of an identity is 0 or has no rows, so there is nothing to average.")
        parts.append(_power_mean(areas, power))
    return float(np.mean(parts))


def _power_mean(values: NDArray[Any], power: float) -> float:
    with np.errstate(divide="ignore"):  # A value of 0 to a negative power is infinite, and makes the mean 0.
        return float(np.mean(values**power) ** (1 / power))


def label_weighted_lrap(truth: NDArray[Any], prediction: NDArray[Any]) -> float:
    """Label-ranking average precision in which each true label weighs the same, whatever row it is in.

    One column per label. For each true label of each row: of the labels that the row scores as high or higher, itself
    included, the share that is true. The score is the mean over all true labels of all rows; rows without one do not
    count. NaN where there is no true label. A row that counts and has a score that is not finite is an
    `InvalidSubmission`.
    """
    true = truth.astype(bool)
    if not true.any():
        return float("nan")
    if not np.isfinite(prediction[true.any(axis=1)]).all():
        raise InvalidSubmission("a row that counts has a score that is missing or infinite.")
    row, label = np.nonzero(true)
    ranked_up_to_it = prediction[row] >= prediction[row, label][:, np.newaxis]
    return float(np.mean((ranked_up_to_it & true[row]).sum(axis=1) / ranked_up_to_it.sum(axis=1)))
