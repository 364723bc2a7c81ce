"""Reference solutions, from the weakest to the strongest."""

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from numpy.typing import NDArray
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

SEED = int(os.environ.get("SEED", "0"))
SPENDING = ["RoomService", "FoodCourt", "ShoppingMall", "Spa", "VRDeck"]
Answers = NDArray[Any]
Solution = Callable[[pd.DataFrame, Answers, pd.DataFrame], Answers]


def everybody(x: pd.DataFrame, y: Answers, unseen: pd.DataFrame) -> Answers:
    return np.ones(len(unseen))


def decision_tree(x: pd.DataFrame, y: Answers, unseen: pd.DataFrame) -> Answers:
    return predict_chance(DecisionTreeClassifier(random_state=SEED), x, y, unseen)


def asleep(x: pd.DataFrame, y: Answers, unseen: pd.DataFrame) -> Answers:
    return np.asarray(unseen["CryoSleep"].eq(True), dtype=float)


def logistic_regression(x: pd.DataFrame, y: Answers, unseen: pd.DataFrame) -> Answers:
    return predict_chance(LogisticRegression(max_iter=1000), x, y, unseen)


def boosted_trees(x: pd.DataFrame, y: Answers, unseen: pd.DataFrame) -> Answers:
    """Average five slowly learning models."""
    models = [
        LGBMClassifier(
            n_estimators=400, learning_rate=0.02, num_leaves=12, min_child_samples=25, subsample=0.7, subsample_freq=1,
            colsample_bytree=0.3, reg_lambda=3, random_state=SEED + number, n_jobs=1, verbose=-1,
        )
        for number in range(5)
    ]  # fmt: skip
    return np.mean([predict_chance(model, x, y, unseen) for model in models], axis=0)


def predict_chance(model: Any, x: pd.DataFrame, y: Answers, unseen: pd.DataFrame) -> Answers:
    """Return the probabilities of a model on all informative columns."""
    known, unseen = make_features(x), make_features(unseen)
    numbers = list(known.select_dtypes("number"))
    columns = make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numbers),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), [name for name in known if name not in numbers]),
    )
    return make_pipeline(columns, model).fit(known, y).predict_proba(unseen)[:, 1]


def make_features(table: pd.DataFrame) -> pd.DataFrame:
    """Return features: parts of the cabin, group sizes, and spending on a logarithmic scale."""
    group, cabin = table["PassengerId"].str[:4], table["Cabin"].str.split("/", expand=True)
    spent = table[SPENDING].sum(axis=1)
    features = table[["HomePlanet", "CryoSleep", "Destination", "VIP"]].astype(str)
    return features.assign(
        **{name: np.log1p(table[name]) for name in SPENDING},
        Spent=np.log1p(spent),
        SpentNothing=spent.eq(0).astype(int),
        Age=table["Age"],
        Deck=cabin[0].astype(str),
        CabinNumber=pd.to_numeric(cabin[1]),
        Side=cabin[2].astype(str),
        GroupSize=group.map(group.value_counts()),
    )


SOLUTIONS: list[Solution] = [everybody, decision_tree, asleep, logistic_regression, boosted_trees]


def write_submission(solution: Solution) -> None:
    train, test = (pd.read_csv(f"data/{part}.csv") for part in ("train", "test"))
    transported = train["Transported"].to_numpy()
    test["Transported"] = solution(train.drop(columns="Transported"), transported, test) >= 0.5
    test[["PassengerId", "Transported"]].to_csv("submission.csv", index=False)
