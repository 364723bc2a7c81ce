"""Metrics of submissions that are run: running times in seconds, and rewards of tests."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.grading.metrics import metric


@metric("speedup over the reference implementation", "higher", depends_on="values", range=(0, math.inf))
def speedup(truth: NDArray[Any], prediction: NDArray[Any]) -> float:
    """The median of how many times faster the submission is: `median(truth / prediction)`. NaN for no rows."""
    return float(np.median(truth / prediction)) if len(truth) else float("nan")


@metric("the reward of hidden tests", "higher", depends_on="values", range=(-math.inf, math.inf))
def reward(truth: NDArray[Any], prediction: NDArray[Any]) -> float:
    """The mean reward that tests wrote. NaN for none."""
    return float(np.mean(prediction)) if len(prediction) else float("nan")
