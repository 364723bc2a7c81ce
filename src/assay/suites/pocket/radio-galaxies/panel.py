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
from scipy.ndimage import gaussian_filter, label, rotate
from sklearn.decomposition import PCA
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifierCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

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


def pixels_and_neighbors(x: Images, y: Labels, unseen: Images) -> Labels:
    return fit(KNeighborsClassifier(5), coarse(x), y, coarse(unseen))


def pixels_and_line(x: Images, y: Labels, unseen: Images) -> Labels:
    return fit(LogisticRegression(C=0.1, max_iter=300), coarse(x), y, coarse(unseen))


def amount_of_light(x: Images, y: Labels, unseen: Images) -> Labels:
    features = [
        np.column_stack([part.mean((1, 2)), part.max((1, 2)), (part > 0.1).mean((1, 2))]) for part in (x, unseen)
    ]
    return RandomForestClassifier(200, min_samples_leaf=3, random_state=SEED).fit(features[0], y).predict(features[1])


def components(x: Images, y: Labels, unseen: Images) -> Labels:
    return fit(make_pipeline(PCA(30, random_state=SEED), SVC(C=5, class_weight="balanced")), x, y, unseen)


def pixels_and_trees(x: Images, y: Labels, unseen: Images) -> Labels:
    return fit(ExtraTreesClassifier(400, class_weight="balanced", random_state=SEED), coarse(x), y, coarse(unseen))


def sorted_pixels(x: Images, y: Labels, unseen: Images) -> Labels:
    features = [np.sort(part.reshape(len(part), -1), axis=1)[:, -600::20] for part in (x, unseen)]
    return (
        ExtraTreesClassifier(400, class_weight="balanced", random_state=SEED).fit(features[0], y).predict(features[1])
    )


def rings(x: Images, y: Labels, unseen: Images) -> Labels:
    return (
        ExtraTreesClassifier(400, class_weight="balanced", random_state=SEED)
        .fit(profile(x), y)
        .predict(profile(unseen))
    )


def turned_components(x: Images, y: Labels, unseen: Images) -> Labels:
    more, labels = turn(x, y)
    return fit(make_pipeline(PCA(60, random_state=SEED), SVC(C=8, class_weight="balanced")), more, labels, unseen)


def turned_trees(x: Images, y: Labels, unseen: Images) -> Labels:
    more, labels = turn(x, y)
    model = ExtraTreesClassifier(300, class_weight="balanced", min_samples_leaf=3, random_state=SEED)
    return fit(model, coarse(more), labels, coarse(unseen))


def aligned_trees(x: Images, y: Labels, unseen: Images) -> Labels:
    model = ExtraTreesClassifier(500, class_weight="balanced", min_samples_leaf=2, random_state=SEED)
    return fit(model, coarse(align(x)), y, coarse(align(unseen)))


def moments(x: Images, y: Labels, unseen: Images) -> Labels:
    model = ExtraTreesClassifier(600, class_weight="balanced", min_samples_leaf=2, random_state=SEED)
    return model.fit(shape(x), y).predict(shape(unseen))


def boosted_moments(x: Images, y: Labels, unseen: Images) -> Labels:
    model = LGBMClassifier(
        n_estimators=150, learning_rate=0.05, num_leaves=8, colsample_bytree=0.4, class_weight="balanced", n_jobs=1,
        random_state=SEED, verbose=-1,
    )  # fmt: skip
    features = [np.hstack([shape(part), profile(part)]) for part in (x, unseen)]
    return np.asarray(model.fit(features[0], y).predict(features[1]))


def filters(x: Images, y: Labels, unseen: Images) -> Labels:
    return filter_scores(x, y, unseen).argmax(axis=1)


def moments_and_aligned_pixels(x: Images, y: Labels, unseen: Images) -> Labels:
    return aligned_shares(x, y, unseen).argmax(axis=1)


def blend(x: Images, y: Labels, unseen: Images) -> Labels:
    shares = aligned_shares(x, y, unseen)
    scores = np.exp(2 * filter_scores(x, y, unseen))
    return (shares + 0.5 * scores / scores.sum(axis=1, keepdims=True)).argmax(axis=1)


def aligned_shares(x: Images, y: Labels, unseen: Images) -> Any:
    features = [
        np.hstack([shape(part), profile(part), coarse(align(part)).reshape(len(part), -1)]) for part in (x, unseen)
    ]
    model = ExtraTreesClassifier(800, class_weight="balanced", min_samples_leaf=2, max_features=0.15, random_state=SEED)
    return model.fit(features[0], y).predict_proba(features[1])


def filter_scores(x: Images, y: Labels, unseen: Images) -> Any:
    """Ridge regression on the strongest responses to random patches, from turned images."""
    random = np.random.default_rng(SEED)
    more, labels = turn(x, y)
    windows = np.lib.stride_tricks.sliding_window_view(coarse(more), (6, 6), axis=(1, 2))
    chosen = np.stack([windows[random.integers(len(more)), *random.integers(0, 20, 2)].ravel() for _ in range(3000)])
    chosen = chosen - chosen.mean(axis=1, keepdims=True)
    chosen = chosen[np.argsort(-np.linalg.norm(chosen, axis=1))[:400]]
    chosen /= np.linalg.norm(chosen, axis=1, keepdims=True)

    def respond(images: Images) -> Images:
        patches = np.lib.stride_tricks.sliding_window_view(coarse(images), (6, 6), axis=(1, 2)).reshape(-1, 36)
        response = (patches @ chosen.T).reshape(len(images), -1, len(chosen))
        return np.hstack([response.max(axis=1), (response > 0.2).mean(axis=1)])

    def features(images: Images) -> Images:
        return np.vstack([respond(images[start : start + 200]) for start in range(0, len(images), 200)])

    model = make_pipeline(StandardScaler(), RidgeClassifierCV(np.logspace(2, 5, 7), class_weight="balanced"))
    return model.fit(features(more), labels).decision_function(features(unseen))


def fit(model: Any, x: Images, y: Labels, unseen: Images) -> Labels:
    return model.fit(x.reshape(len(x), -1), y).predict(unseen.reshape(len(unseen), -1))


def coarse(x: Images) -> Images:
    return x.reshape(len(x), 25, 2, 25, 2).mean(axis=(2, 4))


def turn(x: Images, y: Labels) -> tuple[Images, Labels]:
    quarters = [np.rot90(x, number, axes=(1, 2)) for number in range(4)]
    return np.concatenate(quarters + [part[:, :, ::-1] for part in quarters]), np.tile(y, 8)


def profile(x: Images) -> Images:
    """Return mean and maximum on rings around the center."""
    rows, columns = np.indices((50, 50)) - 24.5
    ring = (np.hypot(rows, columns) / 2.5).astype(int)
    masks = [ring == number for number in range(10)]
    return np.array([[value for mask in masks for value in (part[mask].mean(), part[mask].max())] for part in x])


def align(x: Images) -> Images:
    """Turn each image so that its long axis is horizontal and its brighter half is on the right."""
    turned = []
    for image in x:
        rows, columns = np.indices((50, 50)) - 24.5
        weight = (image**2 + 1e-6) / (image**2 + 1e-6).sum()
        covariance = np.cov(np.vstack([rows.ravel(), columns.ravel()]), aweights=weight.ravel())
        axis = np.linalg.eigh(covariance)[1][:, 1]
        straight = rotate(image, np.degrees(np.arctan2(axis[0], axis[1])), reshape=False, order=1)
        if straight[:, :25].sum() > straight[:, 25:].sum():
            straight = straight[::-1, ::-1]
        turned.append(straight[::-1] if straight[:25].sum() > straight[25:].sum() else straight)
    return np.stack(turned)


def shape(x: Images) -> Images:
    """Return measurements that do not depend on the direction: moments, parts, distances of the brightest points."""
    table = []
    rows, columns = np.indices((50, 50)) - 24.5
    for image in x:
        smooth = gaussian_filter(image, 1)
        row: list[float] = [image.mean(), image.max(), (image > 0.1).mean(), (image > 0.3).mean(), (image > 0.6).mean()]
        weight = (smooth + 1e-6) / (smooth + 1e-6).sum()
        top, left = (weight * rows).sum(), (weight * columns).sum()
        covariance = np.cov(np.vstack([rows.ravel(), columns.ravel()]), aweights=weight.ravel())
        small, large = np.linalg.eigvalsh(covariance)
        row += [small, large, small / large, np.hypot(top, left)]
        for level in (0.15, 0.3, 0.5):
            parts, count = label(smooth > level * smooth.max())
            sizes = np.sort(np.bincount(parts.ravel())[1:])[::-1]
            row += [count, *np.r_[sizes, 0, 0][:2]]
        peaks = [tuple(np.unravel_index(position, smooth.shape)) for position in np.argsort(-smooth.ravel())[:150]]
        spread = np.array(peaks, dtype=float)
        row += [
            np.hypot(*(spread - spread.mean(axis=0)).T).max(),
            smooth[25, 25] / (smooth.max() + 1e-6),
            weight[20:30, 20:30].sum(),
        ]
        table.append(row)
    return np.array(table, dtype=float)


SOLUTIONS: list[Solution] = [
    most_common,
    pixels_and_neighbors,
    pixels_and_line,
    amount_of_light,
    components,
    sorted_pixels,
    pixels_and_trees,
    rings,
    turned_components,
    turned_trees,
    aligned_trees,
    moments,
    boosted_moments,
    filters,
    moments_and_aligned_pixels,
    blend,
]
