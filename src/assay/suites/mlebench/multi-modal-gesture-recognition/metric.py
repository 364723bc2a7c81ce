"""Edit distance of sequences of numbers."""

import math
from typing import Any

from numpy.typing import NDArray

from assay.core.errors import InvalidSubmission
from assay.core.text import quote
from assay.grading.metrics import metric
from assay.grading.metrics.text import edit_distance


@metric("normalized Levenshtein distance", "lower", depends_on="text", range=(0, math.inf))
def normalized_edit_distance(truth: NDArray[Any], prediction: NDArray[Any]) -> float:
    """The whole numbers to insert, remove or replace to make the predicted sequences the true ones, all rows together,
    divided by how many numbers the true ones have. It may exceed 1. NaN where that is 0.
    """
    true, predicted = [_numbers(row) for row in truth.tolist()], [_numbers(row) for row in prediction.tolist()]
    total = sum(map(len, true))
    return sum(map(edit_distance(), true, predicted)) / total if total else float("nan")


def _numbers(row: str) -> list[int]:
    try:
        return [int(item) for item in row.split()]
    except ValueError:
        raise InvalidSubmission(f"{quote(row)} is not a sequence of whole numbers separated by spaces.") from None
