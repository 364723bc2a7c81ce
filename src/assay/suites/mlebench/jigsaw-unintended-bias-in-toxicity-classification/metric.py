"""ROC AUC overall and of the rows that speak of an identity."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import InvalidSubmission
from assay.grading.metrics import metric
from assay.grading.metrics.classification import roc_auc


@metric("mean of the overall AUC and generalized means of bias AUCs", "higher", depends_on="order")
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
