"""Precision of ranked labels."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import InvalidSubmission
from assay.grading.metrics import metric


@metric("label-weighted label-ranking average precision", "higher", depends_on="order")
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
