"""Metrics of running times, in seconds."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.grading.metrics import metric


@metric("speedup over the reference implementation", "higher", depends_on="values", range=(0, math.inf))
def speedup(truth: NDArray[Any], prediction: NDArray[Any]) -> float:
    """The median of how many times faster the submission is: `median(truth / prediction)`. NaN for no rows."""
    return float(np.median(truth / prediction)) if len(truth) else float("nan")
