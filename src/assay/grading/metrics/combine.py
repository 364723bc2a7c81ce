"""Derive a metric from another: over some of the rows, column by column, group by group."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Score = Callable[[NDArray[Any], NDArray[Any]], float]


def apply_mask(mask: NDArray[Any] | None, values: NDArray[Any]) -> NDArray[Any]:
    """Return the rows where `mask` is true; all of them without a mask."""
    return values if mask is None else values[mask.astype(bool)]


def mean_over_columns(score: Score, truth: NDArray[Any], prediction: NDArray[Any]) -> float:
    """Return the plain mean of the columns' scores; a single axis is one column. NaN if one is NaN."""
    if truth.ndim == 1:
        return score(truth, prediction)
    columns = range(truth.shape[1])
    return mean([score(truth[:, column], prediction[:, column]) for column in columns])


def mean_over_groups(score: Score, groups: NDArray[Any], truth: NDArray[Any], prediction: NDArray[Any]) -> float:
    """Return the plain mean of the groups' scores, however many rows each has. NaN if one is NaN, or without rows.

    `groups` names the group of each row; the rows of a group need not be adjacent, and keep their order.
    """
    _, group, size = np.unique(groups, return_inverse=True, return_counts=True)
    by_group, cuts = np.argsort(group, kind="stable"), np.cumsum(size)[:-1]
    pairs = zip(np.split(truth[by_group], cuts), np.split(prediction[by_group], cuts), strict=True)
    return mean([score(*pair) for pair in pairs]) if len(groups) else float("nan")


def mean(values: list[float] | NDArray[Any]) -> float:
    """Return the mean of all numbers in `values`; NaN for none."""
    return float(np.mean(values)) if np.size(values) else float("nan")


def exact_mean(values: Sequence[float]) -> float:
    """Return the mean of numbers whose sum is rounded once; NaN for none."""
    return math.fsum(values) / len(values) if values else math.nan
