"""F1 of one class per row."""

from typing import Any

from numpy.typing import NDArray

from assay.grading.metrics import metric
from assay.grading.metrics.classification import accuracy


@metric("micro-averaged F1 score", "higher", depends_on="labels")
def micro_f1_single_label(truth: NDArray[Any], prediction: NDArray[Any]) -> float:
    """F1 of right and wrong pooled over all classes, for one class per row.

    Each wrong row is one false positive and one false negative, so `2 right / (2 right + wrong + wrong)` is the
    accuracy. NaN for no rows.
    """
    return accuracy(truth, prediction)
