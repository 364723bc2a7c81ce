"""Metrics of rows that list several labels: unordered tags, or guesses from best to worst."""

from collections.abc import Iterator
from typing import Any

from numpy.typing import NDArray

from assay.grading.metrics import metric
from assay.grading.metrics.combine import mean


@metric("micro-averaged F1 score", "higher", depends_on="sets")
def multilabel_micro_f1(truth: NDArray[Any], prediction: NDArray[Any], *, unknown_labels_free: bool = False) -> float:
    """F1 of the pairs of row and label, pooled over all rows: `2 hits / (pairs true + pairs predicted)`.

    A row is text with labels separated by whitespace; a label counts once per row, and a row may have none. NaN where
    no row has a label on either side.

    `unknown_labels_free` ignores predicted labels that no row of truth has. The published graders of
    facebook-recruiting-iii-keyword-extraction, imet-2020-fgvc7 and plant-pathology-2021-fgvc8 do so.
    """
    known = {label for labels in _label_lists(truth) for label in labels} if unknown_labels_free else None
    hits = pairs = 0
    for true, predicted in _label_sets(truth, prediction):
        counted = predicted if known is None else predicted & known
        hits += len(true & counted)
        pairs += len(true) + len(counted)
    return 2 * hits / pairs if pairs else float("nan")


@metric("mean F1 score over rows", "higher", depends_on="sets")
def multilabel_mean_f1(truth: NDArray[Any], prediction: NDArray[Any]) -> float:
    """The plain mean over rows of `F1 = 2 hits / (labels true + labels predicted)`, 1 for a row without any.

    A row is text with labels separated by whitespace; a label counts once per row. NaN for no rows.
    """
    scores = [
        2 * len(true & predicted) / (len(true) + len(predicted)) if true or predicted else 1.0
        for true, predicted in _label_sets(truth, prediction)
    ]
    return mean(scores)


@metric("mean average precision at {k}", "higher", depends_on="rankings")
def map_at_k(truth: NDArray[Any], prediction: NDArray[Any], *, k: int, separator: str | None = None) -> float:
    """The mean over rows of the average precision of the first `k` guesses.

    A row is text with labels separated by whitespace, guesses best first. At each place that names a true label for the
    first time, precision is the number of such places so far over the place; their sum over `min(number of different
    true labels, k)` is the row's average precision. A repeated guess earns nothing and takes its place all the same.
    With one true label it is 1 / its place. Rows without a true label do not count. NaN where no row has one.

    `separator` separates labels, any whitespace by default; with " ", as in the published graders of
    h-and-m-personalized-fashion-recommendations, hotel-id-2021-fgvc8 and whale-categorization-playground, a doubled
    space is an empty guess that takes a place.
    """
    rows = zip(_label_lists(truth, separator), _label_lists(prediction, separator), strict=True)
    return mean([_average_precision(set(true), guessed[:k], k) for true, guessed in rows if true])


def _average_precision(true: set[str], guesses: list[str], k: int) -> float:
    hits: set[str] = set()
    total = 0.0
    for rank, guess in enumerate(guesses, start=1):
        if guess in true and guess not in hits:
            hits.add(guess)
            total += len(hits) / rank
    return total / min(len(true), k)


def _label_sets(truth: NDArray[Any], prediction: NDArray[Any]) -> Iterator[tuple[set[str], set[str]]]:
    for true, predicted in zip(_label_lists(truth), _label_lists(prediction), strict=True):
        yield set(true), set(predicted)


def _label_lists(rows: NDArray[Any], separator: str | None = None) -> Iterator[list[str]]:
    for row in rows.tolist():
        yield str(row).split(separator) if row not in (None, "") else []
