"""Divergence of predicted probabilities from shares of votes."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.grading.metrics import metric


@metric("Kullback-Leibler divergence", "lower", depends_on="probabilities", range=(0, math.inf))
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
