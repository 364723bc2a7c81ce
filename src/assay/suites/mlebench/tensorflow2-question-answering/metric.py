"""F1 of answers to questions, some of which have none."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import InvalidSubmission
from assay.core.text import quote
from assay.grading.metrics import metric
from assay.grading.metrics.combine import mean


@metric("micro-averaged F1 score", "higher", depends_on="sets")
def nq_micro_f1(truth: NDArray[Any], prediction: NDArray[Any], *, count_true_negatives: bool = False) -> float:
    """The micro-averaged F1 of answers to questions, some of which have none.

    A prediction is one answer, `start:end` in tokens or `YES` or `NO`, or empty. Truth holds every right answer,
    separated by spaces, or none. With `right` and `wrong` predictions, and `missed` questions, which have an answer but
    no prediction, the score is `2 right / (2 right + wrong + missed)`. NaN where all three are 0.

    The published grader of tensorflow2-question-answering averages this over "answered" and "not answered", so that it
    also rewards leaving out what has no answer: with `count_true_negatives` the score is the share of all rows that
    are right or rightly empty, NaN for no rows. A file without any answer then scores well instead of 0.
    """
    answers = [{_answer(text) for text in texts.split()} for texts in truth.tolist()]
    predicted = [_answer(text) if text else None for text in prediction.tolist()]
    answered = np.array([text is not None for text in predicted], dtype=bool)
    right = np.array([text in texts for text, texts in zip(predicted, answers, strict=True)], dtype=bool)
    answerable = np.array([bool(texts) for texts in answers], dtype=bool)
    if count_true_negatives:
        return mean(right | ~answered & ~answerable)
    twice = 2 * int(right.sum())
    counted = twice + int((answered & ~right).sum()) + int((~answered & answerable).sum())
    return twice / counted if counted else float("nan")


def _answer(text: str) -> str | tuple[int, int]:
    """An answer in a form that is equal for equal answers, such as 3:7 and 03:7."""
    if text in ("YES", "NO"):
        return text
    start, _, end = text.partition(":")
    try:
        return int(start), int(end)
    except ValueError:
        raise InvalidSubmission(f"{quote(text)} is not an answer: it should be start:end, YES, NO, or empty.") from None
