"""The error of the rows that count."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import InvalidSubmission
from assay.grading.metrics import metric, regression


@metric("mean column-wise root mean squared error", "lower", depends_on="values", range=(0, math.inf))
def mcrmse(
    truth: NDArray[Any],
    prediction: NDArray[Any],
    *,
    mask: NDArray[Any],
    ids: NDArray[Any] | None = None,
    submission_rows: NDArray[Any] | None = None,
) -> float:
    """The root mean squared error of each column over the rows where `mask` is true, averaged. NaN where none counts.

    The published grader looks up whether a predicted row counts by its place in the submitted file instead of its id,
    and then pairs the rows that are left, both sides in the order of their ids. To get that number, pass the rows in
    the order of the answers file, with their `ids`, and `submission_rows`, the place (from 0) that each has in the
    submitted file. A submission in the order of the answers is not affected. Values that are not finite are then
    allowed in rows that do not count, and make the submission invalid in others.
    """
    mask = mask.astype(bool)
    if (ids is None) != (submission_rows is None):
        raise ValueError("ids and submission_rows are given together or not at all")
    if ids is None or submission_rows is None:
        return regression.mcrmse(truth[mask], prediction[mask])
    order, misplaced = np.argsort(ids), mask[submission_rows]
    true, predicted = truth[order][mask[order]], prediction[order][misplaced[order]]
    if not np.isfinite(predicted).all():
        raise InvalidSubmission("A row that counts has a value that is missing or not a finite number.")
    return regression.mcrmse(true, predicted)
