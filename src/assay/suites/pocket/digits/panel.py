"""Reference solutions, from the weakest to the strongest."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from PIL import Image
from scipy.ndimage import affine_transform, shift
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.semi_supervised import LabelSpreading
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

SEED = int(os.environ.get("SEED", "0"))
Images = NDArray[np.float64]
Labels = NDArray[np.int64]
Solution = Callable[[Images, Labels, Images], Labels]


def write_submission(solution: Solution) -> None:
    train, test = (pd.read_csv(f"data/{part}.csv") for part in ("train", "test"))
    known, unseen = (np.stack([pixels(image) for image in part["image"]]) for part in (train, test))
    test["label"] = solution(known, train["label"].to_numpy(), unseen)
    test.to_csv("submission.csv", index=False)


def most_common_digit(x: Images, y: Labels, unseen: Images) -> Labels:
    return np.full(len(unseen), np.bincount(y).argmax())


def amount_of_ink(x: Images, y: Labels, unseen: Images) -> Labels:
    tree = DecisionTreeClassifier(max_depth=4, random_state=SEED)
    return tree.fit(x.sum((1, 2))[:, None], y).predict(unseen.sum((1, 2))[:, None])


def rows_and_columns_of_ink(x: Images, y: Labels, unseen: Images) -> Labels:
    sums = [np.hstack([part.sum(1), part.sum(2)]) for part in (x, unseen)]
    return DecisionTreeClassifier(max_depth=6, random_state=SEED).fit(sums[0], y).predict(sums[1])


def tree(x: Images, y: Labels, unseen: Images) -> Labels:
    return DecisionTreeClassifier(random_state=SEED).fit(flat(x), y).predict(flat(unseen))


def naive_bayes(x: Images, y: Labels, unseen: Images) -> Labels:
    return GaussianNB(var_smoothing=1e-3).fit(flat(x), y).predict(flat(unseen))


def nearest_mean(x: Images, y: Labels, unseen: Images) -> Labels:
    return NearestCentroid().fit(flat(x), y).predict(flat(unseen))


def logistic_regression(x: Images, y: Labels, unseen: Images) -> Labels:
    return LogisticRegression(C=1.0, max_iter=1000).fit(flat(x), y).predict(flat(unseen))


def linear_discriminant(x: Images, y: Labels, unseen: Images) -> Labels:
    return LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto").fit(flat(x), y).predict(flat(unseen))


def random_forest(x: Images, y: Labels, unseen: Images) -> Labels:
    return RandomForestClassifier(300, random_state=SEED).fit(flat(x), y).predict(flat(unseen))


def nearest_neighbour(x: Images, y: Labels, unseen: Images) -> Labels:
    return KNeighborsClassifier(1).fit(flat(x), y).predict(flat(unseen))


def support_vectors(x: Images, y: Labels, unseen: Images) -> Labels:
    return SVC(C=10).fit(flat(x), y).predict(flat(unseen))


def extra_trees(x: Images, y: Labels, unseen: Images) -> Labels:
    return ExtraTreesClassifier(500, random_state=SEED).fit(flat(x), y).predict(flat(unseen))


def label_spreading(x: Images, y: Labels, unseen: Images) -> Labels:
    model = LabelSpreading(kernel="knn", n_neighbors=7, alpha=0.3, max_iter=200)
    both = np.vstack([flat(x), flat(unseen)])
    return model.fit(both, np.r_[y, np.full(len(unseen), -1)]).transduction_[len(x) :]


def shifted_support_vectors(x: Images, y: Labels, unseen: Images) -> Labels:
    more, labels = shift_images(x, y)
    return SVC(C=10).fit(flat(more), labels).predict(flat(unseen))


def warped_support_vectors(x: Images, y: Labels, unseen: Images) -> Labels:
    more, labels = warp_images(x, y)
    return SVC(C=10).fit(flat(more), labels).predict(flat(unseen))


def self_training(x: Images, y: Labels, unseen: Images) -> Labels:
    guess = label_spreading(x, y, unseen)
    second = warped_support_vectors(x, y, unseen)
    sure = guess == second
    more, labels = warp_images(np.concatenate([x, unseen[sure]]), np.r_[y, guess[sure]], copies=6)
    return SVC(C=10).fit(flat(more), labels).predict(flat(unseen))


def flat(x: Images) -> Images:
    return x.reshape(len(x), -1)


def shift_images(x: Images, y: Labels) -> tuple[Images, Labels]:
    """Return the images and copies of them shifted by half a pixel in each direction."""
    steps = [(0, 0), (0, 0.5), (0, -0.5), (0.5, 0), (-0.5, 0)]
    return np.concatenate([shift(x, (0, *step), order=3) for step in steps]), np.tile(y, len(steps))


def warp_images(x: Images, y: Labels, copies: int = 20) -> tuple[Images, Labels]:
    """Return the images and copies with a small random rotation, shear, scaling and shift."""
    random = np.random.default_rng(SEED)
    images = [x]
    for _ in range(copies):
        copies_of_all = np.empty_like(x)
        for number, image in enumerate(x):
            turn, slant = random.normal(0, 0.12, 2)
            matrix = np.array([[np.cos(turn), -np.sin(turn) + slant], [np.sin(turn), np.cos(turn)]])
            matrix *= random.normal(1, 0.07, (2, 1))
            offset = np.array([3.5, 3.5]) - matrix @ np.array([3.5, 3.5]) + random.normal(0, 0.3, 2)
            copies_of_all[number] = affine_transform(image, matrix, offset, order=3)
        images.append(copies_of_all)
    return np.concatenate(images), np.tile(y, copies + 1)


SOLUTIONS: list[Solution] = [
    most_common_digit,
    amount_of_ink,
    rows_and_columns_of_ink,
    tree,
    naive_bayes,
    nearest_mean,
    logistic_regression,
    linear_discriminant,
    random_forest,
    nearest_neighbour,
    support_vectors,
    extra_trees,
    label_spreading,
    shifted_support_vectors,
    warped_support_vectors,
    self_training,
]


def pixels(image: str) -> Images:
    return np.asarray(Image.open(Path("data") / image), dtype=np.float64) / 240
