"""Parts of published graders that several competitions share, restated with pandas and scikit-learn."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import sklearn
from sklearn import metrics
from sklearn.preprocessing import MultiLabelBinarizer
from sklearn.utils.multiclass import type_of_target

Grader = Callable[[pd.DataFrame, pd.DataFrame], float]


def require(condition: bool) -> None:
    """Refuse the submission unless the condition holds."""
    if not condition:
        raise ValueError("invalid submission")


def require_columns(submission: pd.DataFrame, *columns: str) -> None:
    """Refuse the submission unless it has these columns."""
    require(set(columns) <= set(submission.columns))


def align(submission: pd.DataFrame, answers: pd.DataFrame, id: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Sort both tables by id; refuse the submission unless the ids are equal position by position."""
    require(len(submission) == len(answers))
    submission, answers = submission.sort_values(id), answers.sort_values(id)
    require(bool((submission[id].values == answers[id].values).all()))
    return submission, answers


def roc_auc(submission: pd.DataFrame, answers: pd.DataFrame, id: str, target: str) -> float:
    """ROC AUC of a column that must be numeric and within [0, 1]: the grader most competitions share."""
    require_columns(submission, id, target)
    require(len(submission) == len(answers))
    pd.to_numeric(submission[target])
    require(not (submission[target].min() < 0 or submission[target].max() > 1))
    predicted, true = align(submission, answers, id)
    return float(metrics.roc_auc_score(true[target].to_numpy(), predicted[target].to_numpy()))


def accuracy(submission: pd.DataFrame, answers: pd.DataFrame, id: str, target: str) -> float:
    """Share of equal classes; nothing is converted."""
    require_columns(submission, id, target)
    predicted, true = align(submission, answers, id)
    return accuracy_score(true[target].to_numpy(), predicted[target].to_numpy())


def accuracy_score(true: "np.ndarray", predicted: "np.ndarray") -> float:
    """Accuracy as scikit-learn 1.5 has it: text is never equal to a number, but two classes on both sides are sorted.

    Newer versions refuse to compare them.
    """
    is_text = [side.dtype.kind in "OU" for side in (true, predicted)]
    if is_text[0] == is_text[1] or sklearn.__version__.startswith("1.5"):
        return float(metrics.accuracy_score(true, predicted))
    kinds = [type_of_target(side) for side in (true, predicted)]
    require(set(kinds) <= {"binary", "multiclass"} and kinds != ["binary", "binary"])
    return 0.0


def log_loss(submission: pd.DataFrame, answers: pd.DataFrame, id: str, classes: list[str]) -> float:
    """Log loss of one column per class: rows must add up to 1, with values within [0, 1]."""
    shares = submission[classes]
    require(bool(np.isclose(shares.sum(axis=1), 1, atol=1e-6).all()))
    require(bool(((shares >= 0) & (shares <= 1)).all().all()))
    predicted, true = align(submission, answers, id)
    return float(metrics.log_loss(true[classes].to_numpy(), predicted[classes].to_numpy()))


def macro_f1(submission: pd.DataFrame, answers: pd.DataFrame, id: str, target: str) -> float:
    """Macro F1 of classes that are converted with `int()`."""
    require_columns(submission, id, target)
    predicted, true = align(submission, answers, id)
    classes = [int(value) for value in predicted[target]]
    return float(metrics.f1_score([int(value) for value in true[target]], classes, average="macro"))


def decode_mask(text: str, height: int, width: int) -> "np.ndarray":
    """Decode `start length` pairs down the columns; NumPy broadcasts an unpaired start, and slices end at the array."""
    numbers = [int(word) for word in text.split()]
    starts, lengths = (np.array(part, None if part else int) for part in (numbers[0::2], numbers[1::2]))
    starts = starts - 1
    ends = starts + lengths
    require(bool((starts >= 0).all() and (lengths > 0).all()))
    require(bool((starts[1:] >= starts[:-1]).all() and (starts[1:] >= ends[:-1]).all()))
    pixels = np.zeros(height * width, bool)
    for start, end in zip(starts, ends, strict=False):
        pixels[start:end] = True
    return pixels.reshape((height, width), order="F")


def micro_f1_of_labels(submission: pd.DataFrame, answers: pd.DataFrame, id: str, target: str) -> float:
    """F1 over all pairs of row and label; labels that the answers lack are ignored."""
    require_columns(submission, id, target)
    predicted, true = align(submission, answers, id)
    lists = [side[target].fillna("").str.split() for side in (true, predicted)]
    encoder = MultiLabelBinarizer(classes=sorted({label for row in lists[0] for label in row}), sparse_output=True)
    return float(metrics.f1_score(encoder.fit_transform(lists[0]), encoder.transform(lists[1]), average="micro"))


def map_at_5(submission: pd.DataFrame, answers: pd.DataFrame, id: str, target: str) -> float:
    """Mean over rows of 1 / the place of the true label among the first five, which single spaces separate."""
    require(set(submission[id]) == set(answers[id]))
    require(len(submission) == len(answers))
    predicted, true = (side.sort_values(id)[target].astype(str) for side in (submission, answers))
    scores = []
    for guesses, label in zip(predicted.str.split(" "), true, strict=True):
        ranks = [rank for rank, guess in enumerate(guesses[:5], start=1) if guess == label]
        scores.append(1 / ranks[0] if ranks else 0.0)
    return float(np.mean(scores))
