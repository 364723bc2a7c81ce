"""Words that a submitted text has in common with its answer."""

from typing import Any

from numpy.typing import NDArray

from assay.core.errors import InvalidSubmission
from assay.grading.metrics import metric, text


@metric("mean word-level Jaccard score", "higher", depends_on="text")
def mean_word_jaccard(
    truth: NDArray[Any], prediction: NDArray[Any], *, both_empty: float, refuse_both_empty: bool = False
) -> float:
    """As `text.mean_word_jaccard`; the published grader fails on a row without a word on either side."""
    pairs = zip(truth.tolist(), prediction.tolist(), strict=True)
    if refuse_both_empty and any(not true.split() and not predicted.split() for true, predicted in pairs):
        raise InvalidSubmission("neither a submitted text nor its answer has a word, so there is nothing to score.")
    return text.mean_word_jaccard(truth, prediction, both_empty=both_empty)
