"""The published graders of low and development competitions, told again from their rules in pandas and scikit-learn.

Each takes two tables as pandas reads them and returns a score; whatever makes it raise is an invalid submission.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from sklearn import metrics

Reference = Callable[[pd.DataFrame, pd.DataFrame], float]
PRECISION = 2.220446049250313e-16
WITHIN = {"type": "number", "min": 0, "max": 1}
ANY_NUMBER = {"type": "number"}


@dataclass(frozen=True)
class Family:
    """Competitions with the same rules: what the answers look like, how they are judged, and our rules for the same."""

    id: str
    columns: dict[str, object]
    ids: str
    truth: str
    guess: str
    metric: str
    grade: Reference
    rules: dict[str, object] = field(default_factory=dict)
    params: dict[str, object] = field(default_factory=dict)
    direction: str = "higher"


def aligned(submission: pd.DataFrame, answers: pd.DataFrame, id: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Both sorted by id, if the ids are the same position by position."""
    must(len(submission) == len(answers))
    submission, answers = submission.sort_values(id), answers.sort_values(id)
    must((submission[id].values == answers[id].values).all())
    return submission, answers


def must(condition: bool) -> None:
    """Fail as a published grader does."""
    if not condition:
        raise ValueError


def needs(frame: pd.DataFrame, *columns: str) -> None:
    """Fail unless the columns are there."""
    must(set(columns) <= set(frame.columns))


def roc_auc(id: str, *targets: str) -> Reference:
    """Each target numeric and within [0, 1], ids aligned; the mean of the columns' ROC AUC."""

    def grade(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        needs(submission, id, *targets)
        must(len(submission) == len(answers))
        scores = []
        for target in targets:
            values = pd.to_numeric(submission[target])
            must(values.min() >= 0 and values.max() <= 1)
            given, true = aligned(submission, answers, id)
            scores.append(metrics.roc_auc_score(true[target], given[target]))
        return float(np.mean(scores))

    return grade


def kappa(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    """aptos2019-blindness-detection."""
    needs(submission, "diagnosis")
    must(len(submission) > 0 and set(submission["id_code"]) == set(answers["id_code"]))
    given, true = submission.sort_values("id_code"), answers.sort_values("id_code")
    return metrics.cohen_kappa_score(true["diagnosis"], given["diagnosis"], weights="quadratic")


def pixels(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    """denoising-dirty-documents."""
    needs(submission, "id", "value")
    submission = submission.assign(value=submission["value"].astype(float))
    given, true = aligned(submission, answers, "id")
    return metrics.root_mean_squared_error(true["value"], given["value"])


def log_loss(submission: pd.DataFrame, answers: pd.DataFrame, classes: list[str]) -> float:
    """Rows that sum to 1, values within [0, 1]."""
    must(np.isclose(submission[classes].sum(axis=1), 1, atol=1e-6).all())
    must(((submission[classes] >= 0) & (submission[classes] <= 1)).all().all())
    given, true = aligned(submission, answers, "id")
    return metrics.log_loss(true[classes].to_numpy(), given[classes].to_numpy())


def dogs(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    """dog-breed-identification: further columns are dropped."""
    needs(submission, "id", "beagle", "boxer", "pug")
    return log_loss(submission, answers, ["beagle", "boxer", "pug"])


def leaves(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    """leaf-classification: no further columns."""
    must(set(submission.columns) == {"id", "beagle", "boxer", "pug"})
    return log_loss(submission, answers, ["beagle", "boxer", "pug"])


def authors(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    """spooky-author-identification: exactly four columns, the last three of which are summed whatever they are."""
    must(submission.shape[1] == 4)
    places = submission.iloc[:, 1:4]
    must(np.isclose(places.sum(axis=1), 1, atol=1e-6).all())
    must(((places >= 0) & (places <= 1)).all().all())
    return log_loss(submission, answers, ["EAP", "HPL", "MWS"])


def dog_or_cat(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    """dogs-vs-cats-redux-kernels-edition."""
    needs(submission, "id", "label")
    must(set(submission["id"]) == set(answers["id"]) and len(submission) == len(answers))
    must(((submission["label"] >= 0) & (submission["label"] <= 1)).all())
    given, true = submission.sort_values("id"), answers.sort_values("id")
    return metrics.log_loss(true["label"], given["label"])


TOXIC = ["toxic", "insult", "threat"]


def toxic(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    """jigsaw-toxic-comment-classification-challenge: columns by place, and rows whose own id counts."""
    needs(submission, "id", *TOXIC)
    must(len(submission) == len(answers))
    given, true = submission.set_index("id").sort_index(), answers.set_index("id").sort_index()
    scored = true.sum(axis=1) >= 0
    return metrics.roc_auc_score(true[scored], given[scored], average="macro")


def fares(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    """new-york-city-taxi-fare-prediction: keys are sorted and never compared."""
    needs(submission, "key", "fare_amount")
    given, true = submission.sort_values("key"), answers.sort_values("key")
    return metrics.root_mean_squared_error(true["fare_amount"], given["fare_amount"])


def energies(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    """nomad2018-predict-transparent-conductors: by position."""
    needs(submission, "formation", "bandgap")
    must(len(submission) == len(answers))
    columns = ("formation", "bandgap")
    return float(np.mean([metrics.root_mean_squared_log_error(answers[one], submission[one]) for one in columns]))


def plants(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    """plant-pathology-2020-fgvc7: exactly these columns, any numbers."""
    must(set(submission.columns) == {"image_id", "healthy", "rust"})
    given, true = aligned(submission, answers, "image_id")
    return float(np.mean([metrics.roc_auc_score(true[one], given[one]) for one in ("healthy", "rust")]))


def enzymes(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    """playground-series-s3e18."""
    needs(submission, "id", "EC1", "EC2")
    given, true = aligned(submission, answers, "id")
    return metrics.roc_auc_score(true[["EC1", "EC2"]].to_numpy(), given[["EC1", "EC2"]].to_numpy(), average="macro")


def accuracy(id: str, target: str) -> Reference:
    """The shared grader of classes: nothing is converted."""

    def grade(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        must(len(submission) == len(answers))
        needs(submission, id, target)
        given, true = aligned(submission, answers, id)
        return metrics.accuracy_score(true[target], given[target])

    return grade


def words(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    """text-normalization-challenge-*: everything is text, and what is missing is the word nan."""
    needs(submission, "id", "after")
    given, true = aligned(submission, answers, "id")
    texts = [[str(value) for value in side["after"].tolist()] for side in (true, given)]
    return metrics.accuracy_score(*texts)


def paddy(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    """paddy-disease-classification: a missing label is an empty one."""
    needs(submission, "image_id", "label")
    submission = submission.assign(label=submission["label"].astype(object).where(submission["label"].notna(), ""))
    given, true = aligned(submission, answers, "image_id")
    return metrics.accuracy_score(true["label"], given["label"].infer_objects())


def seedlings(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    """plant-seedlings-classification."""
    needs(submission, "file", "species")
    given, true = aligned(submission, answers, "file")
    return metrics.f1_score(true["species"], given["species"], average="micro")


_MORE = {"more_columns": True}
_SUMS = {"row_sum": {"tolerance": 1.1000000000000001e-5}}
_CLIPPED = {"epsilon": PRECISION, "rescale_rows": False}
_CLASS = {"type": "category"}
_BREEDS = {"beagle": WITHIN, "boxer": WITHIN, "pug": WITHIN}
_AUTHORS = {"EAP": WITHIN, "HPL": WITHIN, "MWS": WITHIN}
_ABOVE_MINUS_ONE = {"type": "number", "min": float(np.nextafter(-1, 0))}

FAMILIES = {
    # aerial-cactus, histopathologic, siim-isic, whale-redux, random-acts-of-pizza
    "auc": Family("id", {"y": WITHIN}, "name", "0/1", "share", "roc_auc", roc_auc("id", "y"), _MORE),
    # mlsp-2013-birds, tabular-playground-series-may-2022, invasive-species-monitoring
    "auc-by-number": Family("id", {"y": WITHIN}, "number", "0/1", "share", "roc_auc", roc_auc("id", "y"), _MORE),
    # detecting-insults-in-social-commentary
    "auc-by-text": Family("Text", {"y": WITHIN}, "text", "0/1", "share", "roc_auc", roc_auc("Text", "y"), _MORE),
    # ranzcr-clip-catheter-line-classification
    "auc-of-columns": Family(
        "id", {"a": WITHIN, "b": WITHIN}, "name", "0/1", "share", "mean_column_roc_auc", roc_auc("id", "a", "b"), _MORE
    ),
    "aptos": Family(
        "id_code", {"diagnosis": _CLASS}, "name", "grade", "grade", "quadratic_weighted_kappa", kappa,
        _MORE, {"distance_by_position": True},
    ),
    "denoising": Family("id", {"value": ANY_NUMBER}, "name", "share", "share", "rmse", pixels, _MORE, {}, "lower"),
    "dog-breed": Family("id", _BREEDS, "name", "one", "shares", "log_loss", dogs, _MORE | _SUMS, _CLIPPED, "lower"),
    "leaf": Family("id", _BREEDS, "number", "one", "shares", "log_loss", leaves, _SUMS, _CLIPPED, "lower"),
    "spooky": Family(
        "id", _AUTHORS, "name", "one", "shares", "log_loss", authors, _SUMS | {"order": "id-first"}, _CLIPPED, "lower"
    ),
    "dogs-vs-cats": Family(
        "id", {"label": WITHIN}, "number", "0/1", "share", "log_loss", dog_or_cat,
        _MORE, {"epsilon": PRECISION}, "lower",
    ),
    "jigsaw-toxic": Family(
        "id", dict.fromkeys(TOXIC, ANY_NUMBER), "name", "-1/0/1", "share", "mean_column_roc_auc", toxic,
        {"ids": "known", "skip": {"column": "toxic", "value": -1}, "by_position": True},
    ),
    "taxi": Family(
        "key", {"fare_amount": ANY_NUMBER}, "name", "fare", "fare", "rmse", fares,
        _MORE | {"ids": "sorted"}, {}, "lower",
    ),
    "nomad": Family(
        "id", {"formation": _ABOVE_MINUS_ONE, "bandgap": _ABOVE_MINUS_ONE}, "number", "share", "share",
        "mean_column_rmsle", energies, _MORE | {"ids": "position"}, {}, "lower",
    ),
    "plant-pathology": Family(
        "image_id", {"healthy": ANY_NUMBER, "rust": ANY_NUMBER}, "name", "0/1", "share", "mean_column_roc_auc", plants
    ),
    "enzymes": Family(
        "id", {"EC1": ANY_NUMBER, "EC2": ANY_NUMBER}, "number", "0/1", "share", "mean_column_roc_auc", enzymes, _MORE
    ),
    # tabular-playground-series-dec-2021, ml2021spring-hw2, movie-review-sentiment-analysis-kernels-only
    "class-numbers": Family("id", {"y": _CLASS}, "number", "grade", "grade", "accuracy", accuracy("id", "y"), _MORE),
    "spaceship": Family(
        "id", {"y": {"type": "boolean"}}, "name", "true/false", "true/false", "accuracy", accuracy("id", "y"), _MORE
    ),
    "text-normalization": Family(
        "id", {"after": {"type": "text", "missing": "nan"}}, "name", "word", "word", "accuracy", words, _MORE
    ),
    "paddy": Family(
        "image_id", {"label": _CLASS | {"missing": ""}}, "name", "label", "label", "accuracy", paddy, _MORE
    ),
    "seedlings": Family(
        "file", {"species": _CLASS}, "name", "label", "label", "micro_f1_single_label", seedlings, _MORE
    ),
}  # fmt: skip
