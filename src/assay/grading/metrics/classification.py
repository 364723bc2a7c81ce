"""Metrics of right and wrong classes, and of the probabilities given to them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def accuracy(truth: NDArray[Any], prediction: NDArray[Any]) -> float:
    """The share of rows that are exactly right: `mean(truth == prediction)`.

    With several columns a row is right only if all of them are. NaN for no rows.
    """
    if len(truth) == 0:
        return float("nan")
    right = truth == prediction
    return float(np.mean(right.reshape(len(right), -1).all(axis=1)))


def roc_auc(truth: NDArray[Any], prediction: NDArray[Any]) -> float:
    """The chance that a random positive is scored above a random negative, ties counting half.

    From the ranks r of the predictions, equal ones sharing their mean rank, with p positives and n negatives:
    `(sum of r over positives - p (p + 1) / 2) / (p n)`. Truth is 0/1 or boolean; predictions need only be ordered.
    With several columns, the mean over columns. NaN where a column of truth holds only one class.
    """
    if truth.ndim == 2:
        return float(np.mean([roc_auc(truth[:, column], prediction[:, column]) for column in range(truth.shape[1])]))
    positive = truth.astype(bool)
    positives, negatives = int(positive.sum()), int((~positive).sum())
    if positives == 0 or negatives == 0:
        return float("nan")
    _, place, count = np.unique(prediction, return_inverse=True, return_counts=True)
    mean_rank = np.cumsum(count) - (count - 1) / 2
    above = mean_rank[place][positive].sum() - positives * (positives + 1) / 2
    return float(above / (positives * negatives))


def log_loss(truth: NDArray[Any], prediction: NDArray[Any], *, epsilon: float = 1e-15) -> float:
    """The mean surprise at the true class: `-mean(log(probability given to it))`.

    One column: truth is 0/1 or boolean, and the prediction is the probability of 1. Several columns: one per class,
    truth is 1 in the true one, and each row of predictions is first divided by its sum. Probabilities are kept within
    `[epsilon, 1 - epsilon]`, so that one sure mistake costs much but not everything. NaN for no rows, and for a row of
    predictions that sums to 0.
    """
    if len(truth) == 0:
        return float("nan")
    probability = prediction.astype(np.float64)
    if truth.ndim == 2:
        total = probability.sum(axis=1, keepdims=True)
        probability = np.divide(probability, total, out=np.full_like(probability, np.nan), where=total != 0)
        given = probability[truth.astype(bool)]
    else:
        given = np.where(truth.astype(bool), probability, 1 - probability)
    return float(-np.mean(np.log(np.clip(given, epsilon, 1 - epsilon))))
