"""Metrics of texts.

Rows are strings, empty where a text is missing; for `bits_per_byte` and `perplexity` they are numbers about a text.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import InvalidSubmission
from assay.core.text import quote
from assay.grading.metrics.combine import mean
from assay.grading.metrics.sequence import edit_distance


def bits_per_byte(truth: NDArray[Any], prediction: NDArray[Any]) -> float:
    """The cross-entropy of a language model per byte: `sum(bits) / sum(bytes)`, over all texts together.

    Truth is the length of each text in bytes, prediction the bits that the model spends on it: the sum of
    `-log2 p(token)` over tokens that spell all of it. A text counts by its length. Unlike perplexity, which is
    `2 ** (bits / tokens)`, this does not change with how a text is cut into tokens. Knowing nothing costs 8 bits per
    byte. NaN without a byte.
    """
    total = truth.sum(dtype=np.float64)
    return float(prediction.sum(dtype=np.float64) / total) if total else float("nan")


def perplexity(truth: NDArray[Any], prediction: NDArray[Any]) -> float:
    """The perplexity of a language model: `2 ** (sum(bits) / sum(tokens))`, of the two columns of the prediction.

    Truth has no part in it. It depends on the tokenizer: more tokens for the same text and the same bits lower it. NaN
    without a token, and infinite where it is beyond what a float can hold.
    """
    bits, tokens = prediction.reshape(-1, 2).sum(axis=0, dtype=np.float64)
    if not tokens:
        return float("nan")
    return float(2 ** (bits / tokens)) if bits / tokens < 1024 else float("inf")


def mean_levenshtein(truth: NDArray[Any], prediction: NDArray[Any]) -> float:
    """The mean number of characters to insert, remove or replace to make the prediction the truth. NaN for no rows.

    A character is a Unicode code point; case and spaces count.
    """
    return mean(list(map(edit_distance(), truth.tolist(), prediction.tolist())))


def mean_word_jaccard(
    truth: NDArray[Any],
    prediction: NDArray[Any],
    *,
    both_empty: float = float("nan"),
    refuse_both_empty: bool = False,
) -> float:
    """The share of words in common, averaged over rows: `|t ∩ p| / |t ∪ p|`. NaN for no rows.

    t and p are the sets of words of truth and prediction: lower-cased, and cut at white space. `both_empty` is given to
    a row without a word on either side, for which the formula is 0 / 0: the published grader of
    chaii-hindi-and-tamil-question-answering gives 0. That of tweet-sentiment-extraction fails: with `refuse_both_empty`
    such a row is an `InvalidSubmission`.
    """

    def jaccard(true: str, predicted: str) -> float:
        true_words, given_words = set(true.lower().split()), set(predicted.lower().split())
        either = len(true_words | given_words)
        if either == 0 and refuse_both_empty:
            raise InvalidSubmission("neither a submitted text nor its answer has a word, so there is nothing to score.")
        return len(true_words & given_words) / either if either else both_empty

    return mean(list(map(jaccard, truth.tolist(), prediction.tolist())))


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
