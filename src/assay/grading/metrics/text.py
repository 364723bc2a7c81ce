"""Metrics of texts. Rows are strings, empty where a text is missing."""

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from numpy.typing import NDArray

from assay.core.errors import MissingDependency
from assay.grading.metrics import metric
from assay.grading.metrics.combine import mean


@metric("mean Levenshtein distance", "lower", depends_on="text", range=(0, math.inf))
def mean_levenshtein(truth: NDArray[Any], prediction: NDArray[Any]) -> float:
    """The mean number of characters to insert, remove or replace to make the prediction the truth. NaN for no rows.

    A character is a Unicode code point; case and spaces count.
    """
    return mean(list(map(edit_distance(), truth.tolist(), prediction.tolist())))


@metric("mean word-level Jaccard score", "higher", depends_on="text")
def mean_word_jaccard(
    truth: NDArray[Any],
    prediction: NDArray[Any],
    *,
    both_empty: float = float("nan"),
) -> float:
    """The share of words in common, averaged over rows: `|t ∩ p| / |t ∪ p|`. NaN for no rows.

    t and p are the sets of words of truth and prediction: lower-cased, and cut at white space. `both_empty` is given to
    a row without a word on either side, for which the formula is 0 / 0: the published grader of
    chaii-hindi-and-tamil-question-answering gives 0.
    """

    def jaccard(true: str, predicted: str) -> float:
        true_words, given_words = set(true.lower().split()), set(predicted.lower().split())
        either = len(true_words | given_words)
        return len(true_words & given_words) / either if either else both_empty

    return mean(list(map(jaccard, truth.tolist(), prediction.tolist())))


def edit_distance() -> Callable[[Sequence[Hashable], Sequence[Hashable]], int]:
    """A function that counts the items to insert, remove or replace to make one sequence the other (Levenshtein)."""
    try:
        from rapidfuzz.distance import Levenshtein
    except ImportError:
        raise MissingDependency("The edit distance", "mlebench") from None
    return Levenshtein.distance
