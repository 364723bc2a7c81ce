"""Concordance of predicted risks with censored survival times."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.grading.metrics import metric


@metric("concordance index", "higher", depends_on="order")
def concordance(truth: NDArray[Any], prediction: NDArray[Any]) -> float:
    """The share of comparable pairs in which the patient who died earlier has the higher risk; ties count half.

    Truth is the number of days until death, negative if the patient was last seen alive after that many days. A pair is
    comparable if one died, and the other died later or was seen alive at that time or later. NaN for no such pair.
    """
    days, died, risk = np.abs(truth), truth > 0, prediction.astype(np.float64)
    right = comparable = 0.0
    for row in np.flatnonzero(died):
        others = (days > days[row]) | ((days == days[row]) & ~died)
        comparable += np.count_nonzero(others)
        right += np.count_nonzero(risk[others] < risk[row]) + np.count_nonzero(risk[others] == risk[row]) / 2
    return right / comparable if comparable else float("nan")
