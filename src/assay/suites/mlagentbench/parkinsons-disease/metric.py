"""Symmetric percentage error."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.grading.metrics import metric
from assay.grading.metrics.combine import mean


@metric(
    "symmetric mean absolute percentage error (SMAPE) of values plus {plus}",
    "lower",
    depends_on="values",
    range=(0, 200),
)
def smape(truth: NDArray[Any], prediction: NDArray[Any], *, plus: float = 0.0) -> float:
    """The symmetric mean absolute percentage error: `100 mean(|prediction - truth| / ((|truth| + |prediction|) / 2))`.

    Where both numbers are 0 the error is 0. From 0 for no error it goes to 200. NaN for no rows, and where a number is
    not finite. `plus` is added to both sides first: with 1 it is the SMAPE+1 of
    amp-parkinsons-disease-progression-prediction, whose numbers are never below 0.
    """
    truth, prediction = truth + plus, prediction + plus
    away, size = np.abs(prediction - truth), (np.abs(truth) + np.abs(prediction)) / 2
    with np.errstate(invalid="ignore"):
        return 100 * mean(np.where(size == 0, 0.0, away / np.where(size == 0, 1.0, size)))
