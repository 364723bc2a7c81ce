"""Reference solutions, from the weakest to the strongest."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from numpy.typing import NDArray
from PIL import Image
from scipy.ndimage import shift, sobel
from sklearn.decomposition import PCA
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifierCV
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

SEED = int(os.environ.get("SEED", "0"))
Images = NDArray[np.float64]
Labels = NDArray[np.int64]
Solution = Callable[[Images, Labels, Images], Labels]


def write_submission(solution: Solution) -> None:
    train, test = pd.read_csv("data/train.csv"), pd.read_csv("data/test.csv")
    known, unseen = (
        np.stack([np.asarray(Image.open(Path("data") / name), dtype=float) / 255 for name in part["image"]])
        for part in (train, test)
    )
    test["label"] = solution(known, train["label"].to_numpy(), unseen)
    test[["image", "label"]].to_csv("submission.csv", index=False)


def most_common(x: Images, y: Labels, unseen: Images) -> Labels:
    return DummyClassifier().fit(x, y).predict(unseen)


def brightness(x: Images, y: Labels, unseen: Images) -> Labels:
    tree = DecisionTreeClassifier(max_depth=4, random_state=SEED)
    return tree.fit(x.mean((1, 2))[:, None], y).predict(unseen.mean((1, 2))[:, None])


def profile(x: Images, y: Labels, unseen: Images) -> Labels:
    sums = [part.mean(axis=2) for part in (x, unseen)]
    return DecisionTreeClassifier(max_depth=6, random_state=SEED).fit(sums[0], y).predict(sums[1])


def tree(x: Images, y: Labels, unseen: Images) -> Labels:
    return fit(DecisionTreeClassifier(min_samples_leaf=4, random_state=SEED), x, y, unseen)


def nearest_mean(x: Images, y: Labels, unseen: Images) -> Labels:
    return fit(NearestCentroid(), x, y, unseen)


def profiles(x: Images, y: Labels, unseen: Images) -> Labels:
    sums = [np.hstack([part.mean(axis=1), part.mean(axis=2)]) for part in (x, unseen)]
    return LogisticRegression(C=10, max_iter=500).fit(sums[0], y).predict(sums[1])


def neighbors(x: Images, y: Labels, unseen: Images) -> Labels:
    return fit(KNeighborsClassifier(5), x, y, unseen)


def logistic_regression(x: Images, y: Labels, unseen: Images) -> Labels:
    return fit(LogisticRegression(C=0.03, max_iter=300), x, y, unseen)


def boosting(x: Images, y: Labels, unseen: Images) -> Labels:
    small = [shrink(part) for part in (x, unseen)]
    model = LGBMClassifier(
        n_estimators=60, num_leaves=12, colsample_bytree=0.3, n_jobs=1, random_state=SEED, verbose=-1
    )
    return np.asarray(fit(model, small[0], y, small[1]))


def forest(x: Images, y: Labels, unseen: Images) -> Labels:
    return fit(RandomForestClassifier(300, random_state=SEED), x, y, unseen)


def extra_trees(x: Images, y: Labels, unseen: Images) -> Labels:
    return fit(ExtraTreesClassifier(500, random_state=SEED), x, y, unseen)


def machine_on_components(x: Images, y: Labels, unseen: Images) -> Labels:
    return fit(make_pipeline(PCA(60, random_state=SEED), SVC(C=5)), x, y, unseen)


def machine_on_shifted_images(x: Images, y: Labels, unseen: Images) -> Labels:
    more, labels = shift_images(x, y)
    return fit(make_pipeline(PCA(80, random_state=SEED), SVC(C=5)), more, labels, unseen)


def machine_on_edges(x: Images, y: Labels, unseen: Images) -> Labels:
    return make_pipeline(StandardScaler(), SVC(C=8, gamma=0.0008)).fit(gradients(x), y).predict(gradients(unseen))


def machine_on_mirrored_edges(x: Images, y: Labels, unseen: Images) -> Labels:
    more, labels = shift_images(x, y)
    return (
        make_pipeline(StandardScaler(), SVC(C=8, gamma=0.0008)).fit(gradients(more), labels).predict(gradients(unseen))
    )


def random_filters(x: Images, y: Labels, unseen: Images) -> Labels:
    """Vote of ridge regression on random filters, and machines on edges and pixels."""
    more, labels = shift_images(x, y)
    votes = [
        filter_scores(more, labels, unseen),
        np.eye(10)[machine_on_mirrored_edges(x, y, unseen)] * 1.2,
        np.eye(10)[machine_on_shifted_images(x, y, unseen)] * 0.5,
        np.eye(10)[extra_trees(x, y, unseen)] * 0.5,
    ]
    return np.sum(votes, axis=0).argmax(axis=1)


def filter_scores(x: Images, y: Labels, unseen: Images) -> Any:
    random = np.random.default_rng(SEED)
    patches = np.lib.stride_tricks.sliding_window_view(x, (6, 6), axis=(1, 2))
    chosen = np.stack([patches[random.integers(len(x)), *random.integers(0, 23, 2)].ravel() for _ in range(300)])
    chosen = chosen - chosen.mean(axis=1, keepdims=True)
    chosen = chosen[np.linalg.norm(chosen, axis=1) > 0.3]
    chosen /= np.linalg.norm(chosen, axis=1, keepdims=True)

    def respond(images: Images) -> Images:
        windows = np.lib.stride_tricks.sliding_window_view(images, (6, 6), axis=(1, 2))[:, ::2, ::2].reshape(-1, 36)
        response = np.maximum(windows @ chosen.T - 0.25, 0)
        return response.reshape(len(images), 3, 4, 3, 4, len(chosen)).mean(axis=(2, 4)).reshape(len(images), -1)

    def features(images: Images) -> Images:
        return np.vstack([respond(images[start : start + 200]) for start in range(0, len(images), 200)])

    model = make_pipeline(StandardScaler(), RidgeClassifierCV(np.logspace(2, 5, 7))).fit(features(x), y)
    return model.decision_function(features(unseen))


def fit(model: Any, x: Images, y: Labels, unseen: Images) -> Labels:
    return model.fit(x.reshape(len(x), -1), y).predict(unseen.reshape(len(unseen), -1))


def shrink(x: Images) -> Images:
    return x.reshape(len(x), 14, 2, 14, 2).mean(axis=(2, 4))


def shift_images(x: Images, y: Labels) -> tuple[Images, Labels]:
    """Return the images, their mirror images, and copies shifted by one pixel."""
    steps = [(0, 0, 1), (0, 0, -1), (0, 1, 0), (0, -1, 0)]
    return np.concatenate([x, x[:, :, ::-1], *(shift(x, step, order=0) for step in steps)]), np.tile(y, 6)


def gradients(x: Images) -> Images:
    """Return how strong edges of eight directions are in each of 7 x 7 cells, and the brightness of the cell."""
    down, right = sobel(x, axis=1), sobel(x, axis=2)
    strength, angle = np.hypot(down, right), np.arctan2(down, right)
    parts = [x] + [strength * (np.floor((angle + np.pi) / np.pi * 3.9999) == direction) for direction in range(8)]
    cells = [part.reshape(len(x), 7, 4, 7, 4).mean(axis=(2, 4)).reshape(len(x), -1) for part in parts]
    return np.sqrt(np.hstack(cells))


SOLUTIONS: list[Solution] = [
    most_common,
    brightness,
    profile,
    tree,
    nearest_mean,
    profiles,
    neighbors,
    logistic_regression,
    boosting,
    forest,
    extra_trees,
    machine_on_components,
    machine_on_shifted_images,
    machine_on_edges,
    machine_on_mirrored_edges,
    random_filters,
]
