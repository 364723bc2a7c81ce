"""Score of intervals: their width and a penalty for values outside."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.grading.metrics import metric


@metric("interval score of log prices (90%)", "lower", depends_on="values", range=(0, math.inf))
def interval_score(truth: NDArray[Any], prediction: NDArray[Any], *, level: float = 0.9) -> float:
    """The mean of `log(high / low) + 2 / (1 - level) * (distance of the log price from the interval)`.

    Both columns of truth are the price. Ends in the wrong order are swapped. The interval between the true quantiles
    has the lowest expected score. NaN for no rows.
    """
    if len(truth) == 0:
        return float("nan")
    low, high = np.sort(np.log(prediction.astype(np.float64)), axis=1).T
    price = np.log(truth[:, 0].astype(np.float64))
    outside = np.maximum(low - price, 0) + np.maximum(price - high, 0)
    return float(np.mean(high - low + 2 / (1 - level) * outside))
