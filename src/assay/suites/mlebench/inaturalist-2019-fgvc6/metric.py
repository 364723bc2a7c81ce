"""Error of the first guess."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import InvalidSubmission
from assay.grading.metrics import metric
from assay.grading.metrics.classification import accuracy


@metric("top-1 classification error", "lower", depends_on="labels")
def top1_error(truth: NDArray[Any], prediction: NDArray[Any]) -> float:
    """The share of rows whose first guess is wrong: `1 - accuracy`.

    Classes are whole numbers. A row of text is a list of guesses separated by whitespace, best first, of which only the
    first counts. NaN for no rows, and where a row of text does not begin with a whole number.
    """
    try:
        return 1 - accuracy(_first_guess(truth), _first_guess(prediction))
    except (ValueError, IndexError):
        return float("nan")


def _first_guess(values: NDArray[Any]) -> NDArray[Any]:
    if values.dtype.kind in "biuf":
        return values
    classes = np.array([int(guesses.split()[0]) for guesses in values])
    if len(classes) and classes.dtype.kind not in "iu":  # the published grader of inaturalist-2019-fgvc6 fails on them
        raise InvalidSubmission("A class must be a whole number of at most 64 bits.")
    return classes
