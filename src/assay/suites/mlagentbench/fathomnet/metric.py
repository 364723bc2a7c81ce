"""Ranked labels and a score in one number."""

from typing import Any

from numpy.typing import NDArray

from assay.grading.metrics import metric
from assay.grading.metrics.classification import roc_auc
from assay.grading.metrics.multilabel import map_at_k


@metric(
    "mean of average precision at {k} and normalized AUC of the out-of-sample score",
    "higher",
    depends_on="rankings",
    range=(-0.5, 1),
)
def fathomnet_score(truth: NDArray[Any], prediction: NDArray[Any], *, k: int = 20) -> float:
    """The mean of `map_at_k` of labels and of `2 (AUC - 0.5)` of scores, as the scorer of mlagentbench/fathomnet does.

    The first column is text with labels separated by single spaces, the second 0 or 1 in truth and a score in
    prediction. NaN where truth has only one of the two.
    """
    truth, prediction = truth.reshape(-1, 2), prediction.reshape(-1, 2)
    labels = map_at_k(truth[:, 0], prediction[:, 0], k=k, separator=" ")
    return 0.5 * (labels + 2 * (roc_auc(truth[:, 1].astype(float), prediction[:, 1].astype(float)) - 0.5))
