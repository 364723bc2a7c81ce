"""ROC AUC of the comments that are scored."""

from typing import Any

from numpy.typing import NDArray

from assay.grading.metrics import classification, metric

UNSCORED = -1


@metric("mean column-wise area under the ROC curve", "higher", depends_on="order")
def mean_column_roc_auc(truth: NDArray[Any], prediction: NDArray[Any]) -> float:
    """The plain mean of the columns' ROC AUC over the rows whose labels are all known."""
    scored = (truth != UNSCORED).all(axis=1)
    return classification.mean_column_roc_auc(truth[scored], prediction[scored])
