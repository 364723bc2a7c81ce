"""Reference solutions, from the weakest to the strongest."""

import os
from typing import Any

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

SEED = int(os.environ.get("SEED", "0"))


def scaled(model: Any) -> Any:
    return make_pipeline(StandardScaler(), model)


def squares(model: Any) -> Any:
    return make_pipeline(StandardScaler(), PolynomialFeatures(2), StandardScaler(), model)


SOLUTIONS = {
    "most-common-letter": DummyClassifier(),
    "tree-of-depth-3": DecisionTreeClassifier(max_depth=3, random_state=SEED),
    "tree-of-depth-5": DecisionTreeClassifier(max_depth=5, random_state=SEED),
    "nearest-mean": scaled(NearestCentroid()),
    "tree": DecisionTreeClassifier(random_state=SEED),
    "naive-bayes": GaussianNB(),
    "linear-discriminant": LinearDiscriminantAnalysis(),
    "logistic-regression": scaled(LogisticRegression(max_iter=500)),
    "ten-neighbors": scaled(KNeighborsClassifier(10)),
    "random-forest": RandomForestClassifier(200, random_state=SEED),
    "nearest-neighbor": scaled(KNeighborsClassifier(1)),
    "boosting": LGBMClassifier(n_estimators=60, num_leaves=15, n_jobs=1, random_state=SEED, verbose=-1),
    "extra-trees": ExtraTreesClassifier(400, random_state=SEED),
    "logistic-regression-on-squares": squares(LogisticRegression(C=0.3, max_iter=500)),
    "quadratic-discriminant": QuadraticDiscriminantAnalysis(solver="eigen", shrinkage=0.1),
    "support-vectors": scaled(SVC(C=20, gamma=0.08)),
    "networks-and-support-vectors": VotingClassifier(
        [
            ("svm", scaled(SVC(C=30, gamma=0.09, probability=True, random_state=SEED))),
            ("squares", squares(LogisticRegression(C=0.3, max_iter=500))),
            ("network", scaled(MLPClassifier((200,), alpha=0.01, max_iter=300, random_state=SEED))),
        ],
        voting="soft",
    ),
}


def write_submission(model: Any) -> None:
    train, test = pd.read_csv("data/train.csv"), pd.read_csv("data/test.csv")
    features = [name for name in test if name != "row_id"]
    test["letter"] = model.fit(train[features].astype(np.float64), train["letter"]).predict(test[features])
    test[["row_id", "letter"]].to_csv("submission.csv", index=False)
