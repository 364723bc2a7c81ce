"""Metrics of orders and sequences, each row a string of items separated by spaces."""

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import InvalidSubmission, MissingDependency
from assay.core.text import quote


def kendall_tau_pooled(truth: NDArray[Any], prediction: NDArray[Any]) -> float:
    """How well predicted orders agree with true ones: `1 - 4 s / sum(n (n - 1))`, from -1 (reversed) to 1 (the same).

    n is the number of items of a row, and s the number of pairs, in all rows together, that are in the opposite order
    in the prediction: a long row weighs more than a short one. NaN where no row has two items. A prediction that is not
    its row's items, each exactly once, is an `InvalidSubmission`.
    """
    places = [
        _places(true.split(), predicted.split())
        for true, predicted in zip(truth.tolist(), prediction.tolist(), strict=True)
    ]
    lengths = np.array([len(row) for row in places], dtype=np.int64)
    pairs = int((lengths * (lengths - 1)).sum())
    if pairs == 0:
        return float("nan")
    place = np.array([place for row in places for place in row], dtype=np.int64)
    return 1 - 4 * _inversions(np.repeat(np.arange(len(lengths)), lengths), place, int(lengths.max())) / pairs


def normalized_edit_distance(truth: NDArray[Any], prediction: NDArray[Any]) -> float:
    """The whole numbers to insert, remove or replace to make the predicted sequences the true ones, all rows together,
    divided by how many numbers the true ones have. It may exceed 1. NaN where that is 0.
    """
    true, predicted = [_numbers(row) for row in truth.tolist()], [_numbers(row) for row in prediction.tolist()]
    total = sum(map(len, true))
    return sum(map(edit_distance(), true, predicted)) / total if total else float("nan")


def edit_distance() -> Callable[[Sequence[Hashable], Sequence[Hashable]], int]:
    """A function that counts the items to insert, remove or replace to make one sequence the other (Levenshtein)."""
    try:
        from rapidfuzz.distance import Levenshtein
    except ImportError:
        raise MissingDependency("The edit distance", "mlebench") from None
    return Levenshtein.distance


def _numbers(row: str) -> list[int]:
    try:
        return [int(item) for item in row.split()]
    except ValueError:
        raise InvalidSubmission(f"{quote(row)} is not a sequence of whole numbers separated by spaces.") from None


def _places(true: list[str], predicted: list[str]) -> list[int]:
    """For each predicted item in turn, its place in the true order."""
    place_of = {item: place for place, item in enumerate(true)}
    if len(predicted) != len(true) or place_of.keys() != set(predicted):
        raise InvalidSubmission(_explain(true, predicted))
    return [place_of[item] for item in predicted]


def _explain(true: list[str], predicted: list[str]) -> str:
    for item, times in Counter(predicted).items():
        if times > 1:
            return f"the item {quote(item)} is listed {times} times in a row that may hold it once."
    if unknown := next((item for item in predicted if item not in set(true)), None):
        return f"the item {quote(unknown)} is listed in a row where it does not belong."
    return f"{len(predicted)} items are listed in a row that has {len(true)}."


def _inversions(row: NDArray[Any], place: NDArray[Any], longest: int) -> int:
    """How many pairs of the same row stand in descending order, in O(n log n) for all rows at once.

    As a radix sort goes from the highest bit of the places to the lowest, items with equal higher bits form a block.
    Two items in descending order part at exactly one bit, where the first has a 1 and the second a 0, and are counted
    there.
    """
    bits = (longest - 1).bit_length()
    key = row << bits | place
    total = 0
    for bit in reversed(range(bits)):
        one = (key >> bit) & 1
        ones = np.cumsum(one)
        starts = np.flatnonzero(np.diff(key >> (bit + 1), prepend=-1))
        before_block = np.repeat((ones - one)[starts], np.diff(starts, append=len(key)))
        total += int(((ones - before_block) * (1 - one)).sum())
        key = key[np.argsort(key >> bit, kind="stable")]
    return total
