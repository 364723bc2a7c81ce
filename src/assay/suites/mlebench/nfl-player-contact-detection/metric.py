"""Correlation of classes."""

import math
from typing import Any

from numpy.typing import NDArray

from assay.grading.metrics import metric
from assay.grading.metrics.classification import count_classes


@metric("Matthews correlation coefficient", "higher", depends_on="labels", range=(-1, 1))
def matthews_corrcoef(truth: NDArray[Any], prediction: NDArray[Any]) -> float:
    """The correlation of truth and prediction, for two classes or more; 0 where either is the same in every row.

    With n rows of which h are right, and class c true in t(c) and predicted in p(c) of them:
    `(n h - sum t p) / sqrt((n² - sum t²) (n² - sum p²))`. NaN for no rows.
    """
    if len(truth) == 0:
        return float("nan")
    rows = len(truth)
    hits, true, predicted = count_classes(truth, prediction)
    together = rows * int(hits.sum()) - int(true @ predicted)
    spread = (rows**2 - int(true @ true)) * (rows**2 - int(predicted @ predicted))
    return together / math.sqrt(spread) if spread else 0.0
