"""F1 of several labels, each with the same weight."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.grading.metrics import metric


@metric("mean F1 over labels", "higher", depends_on="labels")
def macro_label_f1(truth: NDArray[Any], prediction: NDArray[Any]) -> float:
    """The mean over columns of `2 TP / (2 TP + FP + FN)`, 0 for a column without a true or predicted 1.

    NaN for no rows.
    """
    if len(truth) == 0:
        return float("nan")
    hits = np.sum((truth == 1) & (prediction == 1), axis=0)
    total = np.sum(truth == 1, axis=0) + np.sum(prediction == 1, axis=0)
    return float(np.mean(np.divide(2 * hits, total, out=np.zeros(len(hits)), where=total > 0)))
