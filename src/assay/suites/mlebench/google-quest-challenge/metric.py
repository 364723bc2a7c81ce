"""Rank correlation, column by column."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.grading.metrics import metric
from assay.grading.metrics.combine import mean_over_columns
from assay.grading.metrics.regression import pearson


@metric("mean column-wise Spearman rank correlation", "higher", depends_on="order", range=(-1, 1))
def mean_column_spearman(truth: NDArray[Any], prediction: NDArray[Any]) -> float:
    """The rank correlation of each column, averaged: `pearson` of the ranks, equal values sharing their mean rank.

    A column that is constant on either side, or holds a NaN, has no ranking to compare, and then the whole is NaN.
    """
    return mean_over_columns(
        lambda true, predicted: pearson(_mean_rank(true), _mean_rank(predicted)), truth, prediction
    )


def _mean_rank(values: NDArray[Any]) -> NDArray[Any]:
    """The place of each value in ascending order, equal ones sharing their mean place; NaN everywhere if one is NaN."""
    if np.isnan(values).any():
        return np.full(len(values), np.nan)
    _, rank, count = np.unique(values, return_inverse=True, return_counts=True)
    mean_rank: NDArray[Any] = (np.cumsum(count) - (count - 1) / 2)[rank]
    return mean_rank
