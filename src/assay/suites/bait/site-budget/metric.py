"""The share of values that are nearly right."""

from typing import Any

import numpy as np

from assay.grading.metrics import metric


@metric("share of values within 10 of the truth", "higher", depends_on="values")
def within_ten(truth: Any, prediction: Any) -> float:
    """The share of rows whose error is at most 10. NaN for no rows."""
    return float(np.mean(np.abs(truth - prediction) <= 10)) if len(truth) else float("nan")
