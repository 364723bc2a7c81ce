"""Metrics of predicted classes and of their probabilities."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import InvalidSubmission
from assay.formats.texts import MISSING_WORDS
from assay.grading.metrics import metric
from assay.grading.metrics.combine import mean_over_columns


@metric("accuracy", "higher", depends_on="labels")
def accuracy(truth: NDArray[Any], prediction: NDArray[Any], *, missing_words_equal: bool = False) -> float:
    """The share of rows that are exactly right: `mean(truth == prediction)`.

    With several columns a row is right only if all of them are. Numbers are compared by value, so 3 is 3.0 and true is
    1; text is compared exactly, and is never equal to a number. NaN for no rows.

    `missing_words_equal` counts words that pandas reads as "no value", such as "NA", "null" and "", as one word. The
    published graders of text-normalization-challenge-english-language and -russian-language do so.
    """
    if len(truth) == 0:
        return float("nan")
    right = np.asarray(truth == prediction)
    if missing_words_equal:
        wrong = np.nonzero(~right)
        pairs = zip(truth[wrong], prediction[wrong], strict=True)
        right[wrong] = [true in MISSING_WORDS and predicted in MISSING_WORDS for true, predicted in pairs]
    return float(np.mean(right.reshape(len(right), -1).all(axis=1)))


@metric("accuracy of the most probable class", "higher", depends_on="labels")
def argmax_accuracy(truth: NDArray[Any], prediction: NDArray[Any]) -> float:
    """The share of rows whose largest value is in the same column on both sides; the first of equal ones counts.

    Truth and prediction have a column for each class, truth with a 1 for the true one. NaN for no rows.
    """
    if len(truth) == 0:
        return float("nan")
    return float(np.mean(truth.argmax(axis=1) == prediction.argmax(axis=1)))


@metric("macro-averaged F1 score", "higher", depends_on="labels")
def macro_f1(truth: NDArray[Any], prediction: NDArray[Any]) -> float:
    """The plain mean over classes of `F1 = 2 hits / (times true + times predicted)`.

    The classes are those that occur in truth or in prediction, so one that is predicted and never true counts as a
    class with F1 of 0. NaN for no rows.
    """
    if len(truth) == 0:
        return float("nan")
    hits, true, predicted = count_classes(truth, prediction)
    return float(np.mean(2 * hits / (true + predicted)))


def count_classes(truth: NDArray[Any], prediction: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """For each class that occurs: how often it is rightly predicted, true, and predicted."""
    classes, codes = np.unique(np.concatenate([truth, prediction]), return_inverse=True)
    true, predicted = codes[: len(truth)], codes[len(truth) :]
    hits = true[true == predicted]
    count = [np.bincount(rows, minlength=len(classes)) for rows in (hits, true, predicted)]
    return count[0], count[1], count[2]


@metric("quadratic weighted kappa", "higher", depends_on="labels", range=(-1, 1))
def quadratic_weighted_kappa(
    truth: NDArray[Any], prediction: NDArray[Any], *, distance_by_position: bool = False
) -> float:
    """Agreement of two columns of grades beyond chance, where a disagreement weighs the square of its distance.

    `1 - observed / expected`: the mean of `(t - p)²` over the rows, and over all pairs of a true grade t of any row and
    a predicted grade p of any row. Grades are integers. NaN for no rows, for grades with a fraction, and where
    all grades on both sides are the same.

    `distance_by_position` measures distance between places in the sorted list of the grades that occur on either side,
    so a grade that does not occur takes no room: 0 and 4 are adjacent if only they occur. The published graders of
    aptos2019-blindness-detection and learning-agency-lab-automated-essay-scoring-2 do so.
    """
    grades = np.concatenate([truth, prediction])
    if (grades != np.rint(grades)).any():
        return float("nan")
    grades = (np.unique(grades, return_inverse=True)[1] if distance_by_position else grades).astype(np.float64)
    rows = len(truth)
    true, predicted = grades[:rows], grades[rows:]
    # All sums are of integers, hence exact: a constant prediction has a kappa of 0 and not of nearly 0.
    observed = rows * float(np.sum((true - predicted) ** 2))
    expected = rows * float(np.sum(true**2) + np.sum(predicted**2)) - 2 * float(np.sum(true)) * float(np.sum(predicted))
    return 1 - observed / expected if expected else float("nan")


@metric("area under the ROC curve", "higher", depends_on="order")
def roc_auc(truth: NDArray[Any], prediction: NDArray[Any]) -> float:
    """The chance that a random positive is scored above a random negative, ties counting half.

    It is the area under the ROC curve. Truth is 0/1 or boolean; predictions need only be ordered.
    With several columns, the mean over columns. NaN where a column of truth holds only one class.
    """
    if truth.ndim == 2:
        return float(np.mean([roc_auc(truth[:, column], prediction[:, column]) for column in range(truth.shape[1])]))
    positive = truth.astype(bool)
    if positive.all() or not positive.any():
        return float("nan")
    false_rate, hit_rate = roc_curve(positive, prediction)
    return area_below(hit_rate, false_rate)


@metric("mean column-wise area under the ROC curve", "higher", depends_on="order")
def mean_column_roc_auc(truth: NDArray[Any], prediction: NDArray[Any]) -> float:
    """The plain mean of the columns' ROC AUC. NaN where a column of truth holds only one class."""
    return mean_over_columns(roc_auc, truth, prediction)


def area_below(heights: NDArray[np.float64], positions: NDArray[np.float64]) -> float:
    """Return the area below straight lines between points; NumPy's own function has another name in version 1."""
    return float((np.diff(positions) * (heights[1:] + heights[:-1]) / 2).sum())


def roc_curve(positive: NDArray[np.bool_], prediction: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The corners of the ROC curve: the shares of negatives and of positives that are scored as high or higher.

    Points between two others on a line are left out, as scikit-learn does, which rounds an area to the same last digit.
    """
    hits, count = _count_up_to(positive, prediction)
    if len(count) > 2:
        corner = np.concatenate([[True], (np.diff(hits, 2) != 0) | (np.diff(count, 2) != 0), [True]])
        hits, count = hits[corner], count[corner]
    false = count - hits
    return np.append(0, false) / false[-1], np.append(0, hits) / hits[-1]


def _count_up_to(positive: NDArray[np.bool_], prediction: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """For each distinct prediction, from the highest: how many positives, and how many rows, are scored as high.

    The two highest bits of numbers from 0 to below 2 are 0, and the others are in the order of the numbers. So they
    leave room for the class, and a plain sort, which is several times faster than one of rows, keeps both together.
    """
    if prediction.dtype == np.float64 and prediction.min() >= 0 and prediction.max() < 2:
        keys = (prediction + 0.0).view(np.uint64) << np.uint64(1) | positive  # + 0.0 turns -0.0 into 0.0
        keys.sort()
        keys = keys[::-1]
        ranked, classes = keys >> np.uint64(1), (keys & np.uint64(1)).astype(np.intp)
    else:
        order = np.argsort(prediction)[::-1]
        ranked, classes = prediction[order], positive[order].astype(np.intp)
    last = np.append(np.flatnonzero(ranked[1:] != ranked[:-1]), len(ranked) - 1)
    return np.cumsum(classes)[last], last + 1


@metric("log loss", "lower", depends_on="probabilities", range=(0, math.inf))
def log_loss(
    truth: NDArray[Any],
    prediction: NDArray[Any],
    *,
    epsilon: float = 1e-15,
    rescale_rows: bool = True,
    both_classes: bool = False,
) -> float:
    """The mean negative log-likelihood of the true class: `-mean(log(probability given to it))`.

    One column: truth is 0/1 or boolean, and the prediction is the probability of 1. Several columns: one per class,
    truth is 1 in the true one, and each row of predictions is first divided by its sum. Probabilities are kept within
    `[epsilon, 1 - epsilon]`, so that one confident mistake costs much but not everything. NaN for no rows, and for a
    row of predictions that sums to 0.

    The published graders (dog-breed-identification, leaf-classification, spooky-author-identification,
    lmsys-chatbot-arena; dogs-vs-cats-redux-kernels-edition and statoil-iceberg-classifier-challenge with one column)
    take an `epsilon` of 2.220446049250313e-16, the precision of a float, and no `rescale_rows`. With one column they
    also need `both_classes`: nothing can be scored against answers that are all 0 or all 1, an `InvalidSubmission`.
    """
    if len(truth) == 0:
        return float("nan")
    probability = prediction.astype(np.float64)
    if truth.ndim == 2:
        if rescale_rows:
            total = probability.sum(axis=1, keepdims=True)
            probability = np.divide(probability, total, out=np.full_like(probability, np.nan), where=total != 0)
        predicted = probability[truth.astype(bool)]
    else:
        positive = truth.astype(bool)
        if both_classes and (positive.all() or not positive.any()):
            raise InvalidSubmission("all answers are of one class, against which probabilities have no log loss.")
        predicted = np.where(positive, probability, 1 - probability)
    return float(-np.mean(np.log(np.clip(predicted, epsilon, 1 - epsilon))))
