"""Reference solutions, from the weakest to the strongest."""

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifierCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

SEED = int(os.environ.get("SEED", "0"))
Values = NDArray[np.float64]
Solution = Callable[[Values, Values, Values], Values]


def write_submission(solution: Solution) -> None:
    train, test = pd.read_csv("data/train.csv"), pd.read_csv("data/test.csv")
    known, unseen = (part.filter(regex="^d").to_numpy() for part in (train, test))
    test["species"] = solution(known, train["species"].to_numpy(), unseen)
    test[["leaf", "species"]].to_csv("submission.csv", index=False)


def most_common(x: Values, y: Values, unseen: Values) -> Values:
    return DummyClassifier().fit(x, y).predict(unseen)


def raw_logistic_regression(x: Values, y: Values, unseen: Values) -> Values:
    return LogisticRegression(C=0.01, max_iter=300).fit(x, y).predict(unseen)


def extremes(x: Values, y: Values, unseen: Values) -> Values:
    features = [np.column_stack([part.max(axis=1), part.min(axis=1)]) for part in (x, unseen)]
    return KNeighborsClassifier(9).fit(features[0], y).predict(features[1])


def raw_forest(x: Values, y: Values, unseen: Values) -> Values:
    return RandomForestClassifier(300, random_state=SEED).fit(x, y).predict(unseen)


def sorted_values(x: Values, y: Values, unseen: Values) -> Values:
    return KNeighborsClassifier(3).fit(np.sort(x, axis=1), y).predict(np.sort(unseen, axis=1))


def nearest_outline(x: Values, y: Values, unseen: Values) -> Values:
    return KNeighborsClassifier(1).fit(x, y).predict(unseen)


def summaries(x: Values, y: Values, unseen: Values) -> Values:
    return RandomForestClassifier(300, random_state=SEED).fit(summarize(x), y).predict(summarize(unseen))


def distribution(x: Values, y: Values, unseen: Values) -> Values:
    model = ExtraTreesClassifier(400, random_state=SEED)
    return model.fit(np.sort(x, axis=1)[:, ::8], y).predict(np.sort(unseen, axis=1)[:, ::8])


def nearest_spectrum(x: Values, y: Values, unseen: Values) -> Values:
    return KNeighborsClassifier(3).fit(spectrum(x), y).predict(spectrum(unseen))


def spectrum_machine(x: Values, y: Values, unseen: Values) -> Values:
    return make_pipeline(StandardScaler(), SVC(C=10)).fit(spectrum(x), y).predict(spectrum(unseen))


def nearest_rotated_outline(x: Values, y: Values, unseen: Values) -> Values:
    """Compare with all rotations of each known outline, by correlation."""
    return nearest(correlate(unseen, x), y)


def nearest_rotated_or_mirrored_outline(x: Values, y: Values, unseen: Values) -> Values:
    return nearest(np.maximum(correlate(unseen, x), correlate(unseen, x[:, ::-1])), y)


def spectrum_and_distribution(x: Values, y: Values, unseen: Values) -> Values:
    features = [
        np.hstack([np.log(spectrum(part) + 1e-3), np.sort(part, axis=1)[:, ::16], summarize(part)])
        for part in (x, unseen)
    ]
    return ExtraTreesClassifier(600, random_state=SEED).fit(features[0], y).predict(features[1])


def two_hundred_convolutions(x: Values, y: Values, unseen: Values) -> Values:
    return convolutions(x, y, unseen, 200)


def thousand_convolutions(x: Values, y: Values, unseen: Values) -> Values:
    return convolutions(x, y, unseen, 1000)


def convolutions_and_mirrors(x: Values, y: Values, unseen: Values) -> Values:
    return convolutions(np.vstack([x, x[:, ::-1]]), np.r_[y, y], unseen, 1500)


def convolutions(x: Values, y: Values, unseen: Values, count: int) -> Values:
    """Ridge regression on two summaries of each of many random convolutions (ROCKET), around the closed outline."""
    random = np.random.default_rng(SEED)
    columns = []
    both = np.vstack([x, unseen])
    for _ in range(count):
        length = int(random.choice([7, 9, 11]))
        weights = random.standard_normal(length)
        weights -= weights.mean()
        dilation = int(2 ** random.uniform(0, np.log2((both.shape[1] - 1) / (length - 1) / 2)))
        response = sum(
            weight * np.roll(both, -dilation * position, axis=1) for position, weight in enumerate(weights)
        ) + random.uniform(-1, 1)
        columns += [(response > 0).mean(axis=1), response.max(axis=1)]
    features = np.column_stack(columns)
    model = make_pipeline(StandardScaler(), RidgeClassifierCV(np.logspace(0, 5, 12)))
    return model.fit(features[: len(x)], y).predict(features[len(x) :])


def spectrum(x: Values) -> Values:
    return np.abs(np.fft.rfft(x, axis=1))[:, 1:60]


def summarize(x: Values) -> Values:
    steps = np.diff(x, axis=1)
    parts: list[Any] = [x.max(axis=1), x.min(axis=1), (x > 0).mean(axis=1), np.abs(steps).mean(axis=1)]
    parts += [np.abs(steps).max(axis=1), (steps[:, 1:] * steps[:, :-1] < 0).sum(axis=1), (x**3).mean(axis=1)]
    return np.column_stack(parts)


def correlate(unseen: Values, x: Values) -> Values:
    first, second = np.fft.rfft(unseen, axis=1), np.fft.rfft(x, axis=1)
    return np.stack([np.fft.irfft(row * second.conj(), n=x.shape[1], axis=1).max(axis=1) for row in first])


def nearest(similarity: Values, y: Values) -> Values:
    return y[similarity.argmax(axis=1)]


SOLUTIONS: list[Solution] = [
    most_common,
    raw_logistic_regression,
    raw_forest,
    extremes,
    nearest_outline,
    sorted_values,
    summaries,
    distribution,
    nearest_spectrum,
    spectrum_machine,
    nearest_rotated_outline,
    nearest_rotated_or_mirrored_outline,
    spectrum_and_distribution,
    two_hundred_convolutions,
    thousand_convolutions,
    convolutions_and_mirrors,
]
