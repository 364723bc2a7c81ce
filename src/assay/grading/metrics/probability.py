"""Metrics of probabilities: divergence, weighted log loss, probabilistic F1."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.core.errors import InvalidSubmission


def kl_divergence(
    truth: NDArray[Any], prediction: NDArray[Any], *, epsilon: float = 1e-15, missing_cost_nothing: bool = False
) -> float:
    """The mean over rows of the Kullback-Leibler divergence: `sum over classes of p log(p / q)`, nothing where p is 0.

    One column per class. p is truth divided by its row's sum, so vote counts can be used; q is the prediction kept
    within `[epsilon, 1 - epsilon]`, whose rows are taken to sum to 1. NaN for no rows, and for a row of truth that sums
    to 0.

    With `missing_cost_nothing`, a class whose prediction or truth is missing adds nothing to its row. The published
    grader of hms-harmful-brain-activity-classification does this.
    """
    if len(truth) == 0:
        return float("nan")
    add = np.nansum if missing_cost_nothing else np.sum
    total = add(truth, axis=1, keepdims=True).astype(np.float64)
    p = np.divide(truth, total, out=np.full(truth.shape, np.nan), where=total != 0)
    q = np.clip(prediction, epsilon, 1 - epsilon)
    terms = p * np.log(np.where(p == 0, 1, p / q))
    if missing_cost_nothing:
        terms = np.where(np.isnan(prediction) | np.isnan(truth), 0, terms)
    return float(np.mean(np.sum(terms, axis=1)))


def weighted_multilabel_log_loss(
    truth: NDArray[Any],
    prediction: NDArray[Any],
    *,
    negative_weight: ArrayLike,
    positive_weight: ArrayLike,
    groups: NDArray[Any] | None = None,
    kinds: NDArray[Any] | None = None,
    heavy_kind: str = "",
    heavy_factor: float = 1.0,
    epsilon: float = 1e-15,
) -> float:
    """The mean over groups of the group's weighted log loss: `sum(w loss) / sum(w)`.

    Each number is one yes-or-no question: truth 0/1, prediction the probability of 1, kept within
    `[epsilon, 1 - epsilon]`. Its weight is `positive_weight` where the answer is 1 and `negative_weight` where it is 0;
    both are single numbers or arrays that fit truth, as one number per column. Where `kinds` names the kind of each
    row, those of `heavy_kind` weigh `heavy_factor` times as much. A group is a row, or, where `groups` names the group
    of each row, all rows of that name. NaN for no rows.

    In rsna-2022-cervical-spine-fracture-detection a group is a study, with weights 14 (positive) and 7 (negative) for
    patient_overall and 2 and 1 for each vertebra.
    """
    if len(truth) == 0:
        return float("nan")
    positive = truth.astype(bool)
    kept = np.clip(prediction, epsilon, 1 - epsilon)  # 1 minus it is not quite epsilon where the prediction is 1
    loss = -np.log(np.where(positive, kept, 1 - kept))
    weight = np.where(positive, positive_weight, negative_weight)
    if kinds is not None:
        weight = weight * np.where(kinds == heavy_kind, heavy_factor, 1.0)
    row_group = np.arange(len(truth)) if groups is None else np.unique(groups, return_inverse=True)[1]
    group = np.repeat(row_group, loss[0].size)
    by_group = np.bincount(group, (weight * loss).ravel()) / np.bincount(group, weight.ravel())
    return float(np.mean(by_group))


def probabilistic_f1(
    truth: NDArray[Any], prediction: NDArray[Any], *, beta: float = 1.0, missing_scores_zero: bool = False
) -> float:
    """F-beta in which a prediction p, kept within [0, 1], is a positive in part: p of one.

    With c the sum of p over the positive rows, precision is c over the sum of all p, and recall is c over the number of
    positives n. Their F-beta is `(1 + beta²) c / (sum of all p + beta² n)`, which is 0 for predictions of nothing. NaN
    where truth has no positive, and where a prediction is missing.

    With `missing_scores_zero` a missing prediction makes the whole score 0, and predictions that are all below 0 are an
    `InvalidSubmission`, as is any for truth without a positive. The published grader of rsna-breast-cancer-detection
    does this; F-beta is computed in its steps, which decide the last digit.
    """
    positive, predicted = truth.astype(bool), np.clip(prediction, 0, 1)
    if missing_scores_zero and ((prediction < 0).all() or not positive.any()):
        raise InvalidSubmission("all predictions are below 0, or no answer is positive.")
    if missing_scores_zero and np.isnan(prediction).any():
        return 0.0
    if not positive.any():
        return float("nan")
    found, wrong = (float(np.cumsum(predicted[rows])[-1]) if rows.any() else 0.0 for rows in (positive, ~positive))
    if found == 0:
        return 0.0
    precision, recall = found / (found + wrong), found / int(positive.sum())
    return float((1 + beta**2) * (precision * recall) / (beta**2 * precision + recall))
