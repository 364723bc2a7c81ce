"""Reference solutions, from the weakest to the strongest."""

import os
from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.covariance import MinCovDet
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest, RandomForestClassifier
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import KernelDensity, LocalOutlierFactor, NearestNeighbors
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

SEED = int(os.environ.get("SEED", "0"))
Values = NDArray[np.float64]
Solution = Callable[[Values, Values], Values]


def write_submission(solution: Solution) -> None:
    train, test = pd.read_csv("data/train.csv"), pd.read_csv("data/test.csv")
    sensors = [name for name in test if name != "reading"]
    scaler = StandardScaler().fit(train[sensors])
    test["anomaly"] = solution(scaler.transform(train[sensors]), scaler.transform(test[sensors]))
    test[["reading", "anomaly"]].to_csv("submission.csv", index=False)


def constant(normal: Values, unseen: Values) -> Values:
    return np.zeros(len(unseen))


def fourth_sensor(normal: Values, unseen: Values) -> Values:
    return np.abs(unseen[:, 2])


def largest_distance(normal: Values, unseen: Values) -> Values:
    return np.abs(unseen).max(axis=1)


def sum_of_distances(normal: Values, unseen: Values) -> Values:
    return np.abs(unseen).sum(axis=1)


def range_violations(normal: Values, unseen: Values) -> Values:
    low, high = np.quantile(normal, [0.02, 0.98], axis=0)
    return ((unseen < low) | (unseen > high)).sum(axis=1).astype(float)


def principal_components(normal: Values, unseen: Values) -> Values:
    model = PCA(4).fit(normal)
    return np.square(unseen - model.inverse_transform(model.transform(unseen))).sum(axis=1)


def isolation_forest(normal: Values, unseen: Values) -> Values:
    return -IsolationForest(n_estimators=300, random_state=SEED).fit(normal).score_samples(unseen)


def one_class_machine(normal: Values, unseen: Values) -> Values:
    return -OneClassSVM(gamma=0.1, nu=0.05).fit(normal).score_samples(unseen)


def local_outlier_factor(normal: Values, unseen: Values) -> Values:
    return -LocalOutlierFactor(20, novelty=True).fit(normal).score_samples(unseen)


def neighbors(normal: Values, unseen: Values) -> Values:
    return NearestNeighbors(n_neighbors=10).fit(normal).kneighbors(unseen)[0].mean(axis=1)


def robust_covariance(normal: Values, unseen: Values) -> Values:
    return MinCovDet(random_state=SEED).fit(normal).mahalanobis(unseen)


def covariance(normal: Values, unseen: Values) -> Values:
    inverse = np.linalg.inv(np.cov(normal.T))
    return np.einsum("ij,jk,ik->i", unseen, inverse, unseen)


def kernel_density(normal: Values, unseen: Values) -> Values:
    return -KernelDensity(bandwidth=0.6).fit(normal).score_samples(unseen)


def mixture(normal: Values, unseen: Values) -> Values:
    return -GaussianMixture(6, reg_covar=0.02, random_state=SEED).fit(normal).score_samples(unseen)


def density_ratio(normal: Values, unseen: Values) -> Values:
    """Tell the two files apart: the more a test reading looks like the test file only, the more abnormal it is."""
    inputs = np.vstack([normal, unseen])
    labels = np.r_[np.zeros(len(normal)), np.ones(len(unseen))]
    weights = np.r_[np.full(len(normal), len(unseen) / len(normal)), np.ones(len(unseen))]
    model = RandomForestClassifier(500, min_samples_leaf=10, oob_score=True, random_state=SEED)
    return model.fit(inputs, labels, weights).oob_decision_function_[len(normal) :, 1]


def blend(normal: Values, unseen: Values) -> Values:
    parts = [mixture(normal, unseen), density_ratio(normal, unseen), covariance(normal, unseen)]
    return np.mean([rankdata(part) for part in parts], axis=0)


SOLUTIONS: list[Solution] = [
    constant,
    fourth_sensor,
    range_violations,
    sum_of_distances,
    largest_distance,
    isolation_forest,
    neighbors,
    local_outlier_factor,
    one_class_machine,
    kernel_density,
    robust_covariance,
    covariance,
    principal_components,
    mixture,
    density_ratio,
    blend,
]
