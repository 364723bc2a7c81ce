"""Reference solutions, from the weakest to the strongest."""

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

SEED = int(os.environ.get("SEED", "0"))
Values = NDArray[np.float64]
Solution = Callable[[Values, Values, Values], Values]


def write_submission(solution: Solution) -> None:
    train, test = pd.read_csv("data/train.csv"), pd.read_csv("data/test.csv")
    features = [name for name in test if name != "gene"]
    labels = [name for name in train if name not in test]
    columns = [
        solution(train[features].to_numpy(), train[label].to_numpy(), test[features].to_numpy()) for label in labels
    ]
    table = pd.DataFrame(np.column_stack(columns).astype(int), columns=labels)
    table.insert(0, "gene", test["gene"])
    table.to_csv("submission.csv", index=False)


def never(x: Values, y: Values, unseen: Values) -> Values:
    return np.zeros(len(unseen))


def most_common(x: Values, y: Values, unseen: Values) -> Values:
    return np.full(len(unseen), y.mean() > 0.5)


def forest(x: Values, y: Values, unseen: Values) -> Values:
    return RandomForestClassifier(50, random_state=SEED).fit(x, y).predict(unseen)


def logistic_regression(x: Values, y: Values, unseen: Values) -> Values:
    return make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=300)).fit(x, y).predict(unseen)


def neighbor(x: Values, y: Values, unseen: Values) -> Values:
    return make_pipeline(StandardScaler(), KNeighborsClassifier(1)).fit(x, y).predict(unseen)


def coin(x: Values, y: Values, unseen: Values) -> Values:
    return np.random.default_rng(SEED).integers(0, 2, len(unseen)).astype(float)


def always(x: Values, y: Values, unseen: Values) -> Values:
    return np.ones(len(unseen))


def naive_bayes(x: Values, y: Values, unseen: Values) -> Values:
    return GaussianNB().fit(x, y).predict(unseen)


def balanced_logistic_regression(x: Values, y: Values, unseen: Values) -> Values:
    model = LogisticRegression(C=0.01, class_weight="balanced", max_iter=300)
    return make_pipeline(StandardScaler(), model).fit(x, y).predict(unseen)


def neighbors_with_threshold(x: Values, y: Values, unseen: Values) -> Values:
    return best_threshold(make_pipeline(StandardScaler(), KNeighborsClassifier(30)), x, y, unseen)


def logistic_regression_with_threshold(x: Values, y: Values, unseen: Values) -> Values:
    return best_threshold(make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=300)), x, y, unseen)


def boosting_with_threshold(x: Values, y: Values, unseen: Values) -> Values:
    return best_threshold(boosting(), x, y, unseen)


def forest_with_threshold(x: Values, y: Values, unseen: Values) -> Values:
    model = RandomForestClassifier(80, min_samples_leaf=2, max_features=0.1, random_state=SEED)
    return best_threshold(model, x, y, unseen)


def extra_trees_with_threshold(x: Values, y: Values, unseen: Values) -> Values:
    return best_threshold(ExtraTreesClassifier(120, min_samples_leaf=2, random_state=SEED), x, y, unseen)


def machine_with_threshold(x: Values, y: Values, unseen: Values) -> Values:
    return best_threshold(machine(), x, y, unseen)


def blend(x: Values, y: Values, unseen: Values) -> Values:
    class Mean:
        def fit(self, x: Any, y: Any) -> "Mean":
            trees = ExtraTreesClassifier(120, min_samples_leaf=2, random_state=SEED)
            self.models = [model.fit(x, y) for model in (trees, machine())]
            return self

        def predict_proba(self, x: Any) -> Any:
            return np.mean([model.predict_proba(x) for model in self.models], axis=0)

    return best_threshold(Mean(), x, y, unseen)


def boosting() -> Any:
    return LGBMClassifier(
        n_estimators=60, learning_rate=0.06, num_leaves=8, colsample_bytree=0.3, n_jobs=1, random_state=SEED, verbose=-1
    )


def machine() -> Any:
    return make_pipeline(StandardScaler(), SVC(C=1.5, gamma=0.006, probability=True, random_state=SEED))


def best_threshold(model: Any, x: Values, y: Values, unseen: Values) -> Values:
    """Predict 1 above the threshold with the best F1 in cross-validation."""
    expected = np.empty(len(y))
    for rows, others in StratifiedKFold(3, shuffle=True, random_state=SEED).split(x, y):
        expected[others] = model.fit(x[rows], y[rows]).predict_proba(x[others])[:, 1]
    order = np.argsort(-expected, kind="stable")
    hits = np.cumsum(y[order])
    best = int(np.argmax(2 * hits / (np.arange(1, len(y) + 1) + y.sum())))
    return model.fit(x, y).predict_proba(unseen)[:, 1] >= expected[order[best]]


SOLUTIONS: list[Solution] = [
    never,
    most_common,
    forest,
    logistic_regression,
    neighbor,
    coin,
    always,
    naive_bayes,
    balanced_logistic_regression,
    neighbors_with_threshold,
    logistic_regression_with_threshold,
    boosting_with_threshold,
    forest_with_threshold,
    extra_trees_with_threshold,
    machine_with_threshold,
    blend,
]
