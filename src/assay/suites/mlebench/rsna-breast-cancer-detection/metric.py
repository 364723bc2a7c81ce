"""F1 in which a prediction is a positive in part."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import InvalidSubmission
from assay.grading.metrics import metric


@metric("probabilistic F1 score", "higher", depends_on="probabilities")
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
    hits, wrong = (float(np.cumsum(predicted[rows])[-1]) if rows.any() else 0.0 for rows in (positive, ~positive))
    if hits == 0:
        return 0.0
    precision, recall = hits / (hits + wrong), hits / int(positive.sum())
    return float((1 + beta**2) * (precision * recall) / (beta**2 * precision + recall))
