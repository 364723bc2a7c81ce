"""Agreement of orders."""

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import InvalidSubmission
from assay.core.text import quote
from assay.grading.metrics import metric


@metric("Kendall tau correlation", "higher", depends_on="order", range=(-1, 1))
def kendall_tau_pooled(truth: NDArray[Any], prediction: NDArray[Any]) -> float:
    """How well predicted orders agree with true ones: `1 - 4 s / sum(n (n - 1))`, from -1 (reversed) to 1 (the same).

    n is the number of items of a row, and s the number of pairs, in all rows together, that are in the opposite order
    in the prediction: a long row weighs more than a short one. NaN where no row has two items. A prediction that is not
    its row's items, each exactly once, is an `InvalidSubmission`.
    """
    positions = [
        _positions(true.split(), predicted.split())
        for true, predicted in zip(truth.tolist(), prediction.tolist(), strict=True)
    ]
    lengths = np.array([len(row) for row in positions], dtype=np.int64)
    pairs = int((lengths * (lengths - 1)).sum())
    if pairs == 0:
        return float("nan")
    position = np.array([position for row in positions for position in row], dtype=np.int64)
    return 1 - 4 * _inversions(np.repeat(np.arange(len(lengths)), lengths), position, int(lengths.max())) / pairs


def _positions(true: list[str], predicted: list[str]) -> list[int]:
    """For each predicted item in turn, its position in the true order."""
    position_of = {item: position for position, item in enumerate(true)}
    if len(predicted) != len(true) or position_of.keys() != set(predicted):
        raise InvalidSubmission(_explain(true, predicted))
    return [position_of[item] for item in predicted]


def _explain(true: list[str], predicted: list[str]) -> str:
    for item, times in Counter(predicted).items():
        if times > 1:
            return f"the item {quote(item)} is listed {times} times in a row that may hold it once."
    if unknown := next((item for item in predicted if item not in set(true)), None):
        return f"the item {quote(unknown)} is listed in a row where it does not belong."
    return f"{len(predicted)} items are listed in a row that has {len(true)}."


def _inversions(row: NDArray[Any], position: NDArray[Any], longest: int) -> int:
    """How many pairs of the same row stand in descending order, in O(n log n) for all rows at once.

    As a radix sort goes from the highest bit of the positions to the lowest, items with equal higher bits form a block.
    Two items in descending order part at exactly one bit, where the first has a 1 and the second a 0, and are counted
    there.
    """
    bits = (longest - 1).bit_length()
    key = row << bits | position
    total = 0
    for bit in reversed(range(bits)):
        bit_set = (key >> bit) & 1
        count = np.cumsum(bit_set)
        starts = np.flatnonzero(np.diff(key >> (bit + 1), prepend=-1))
        before_block = np.repeat((count - bit_set)[starts], np.diff(starts, append=len(key)))
        total += int(((count - before_block) * (1 - bit_set)).sum())
        key = key[np.argsort(key >> bit, kind="stable")]
    return total
