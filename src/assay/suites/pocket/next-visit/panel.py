"""Reference solutions, from the weakest to the strongest."""

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from lightgbm import LGBMRegressor
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor
from sklearn.linear_model import LinearRegression, RidgeCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

SEED = int(os.environ.get("SEED", "0"))
Values = NDArray[np.float64]
Solution = Callable[[pd.DataFrame, Values, pd.DataFrame], Values]


def write_submission(solution: Solution) -> None:
    train, test = pd.read_csv("data/train.csv"), pd.read_csv("data/test.csv")
    target = train.pop("next_log_bilirubin").to_numpy(dtype=float)
    test["next_log_bilirubin"] = solution(train, target, test)
    test[["row_id", "next_log_bilirubin"]].to_csv("submission.csv", index=False)


def mean(x: pd.DataFrame, y: Values, unseen: pd.DataFrame) -> Values:
    return np.full(len(unseen), y.mean())


def age(x: pd.DataFrame, y: Values, unseen: pd.DataFrame) -> Values:
    return fit(LinearRegression(), x, y, unseen, ["age"])


def albumin(x: pd.DataFrame, y: Values, unseen: pd.DataFrame) -> Values:
    return fit(LinearRegression(), x, y, unseen, ["albumin"])


def signs(x: pd.DataFrame, y: Values, unseen: pd.DataFrame) -> Values:
    return fit(LinearRegression(), x, y, unseen, ["ascites", "hepatomegaly", "spiders", "edema"])


def all_but_bilirubin(x: pd.DataFrame, y: Values, unseen: pd.DataFrame) -> Values:
    columns = [name for name in map(str, features(x)) if "ilir" not in name]
    return fit(RandomForestRegressor(200, min_samples_leaf=5, random_state=SEED), x, y, unseen, columns)


def previous_value(x: pd.DataFrame, y: Values, unseen: pd.DataFrame) -> Values:
    known = unseen["previous_bilirubin"].fillna(x["serBilir"].median())
    return np.asarray(np.log(known), dtype=float)


def neighbors(x: pd.DataFrame, y: Values, unseen: pd.DataFrame) -> Values:
    return fit(make_pipeline(StandardScaler(), KNeighborsRegressor(15)), x, y, unseen, list(map(str, features(x))))


def tree(x: pd.DataFrame, y: Values, unseen: pd.DataFrame) -> Values:
    return fit(DecisionTreeRegressor(min_samples_leaf=20, random_state=SEED), x, y, unseen, list(map(str, features(x))))


def present_value(x: pd.DataFrame, y: Values, unseen: pd.DataFrame) -> Values:
    return np.asarray(np.log(unseen["serBilir"]), dtype=float)


def line_through_present_value(x: pd.DataFrame, y: Values, unseen: pd.DataFrame) -> Values:
    return fit(LinearRegression(), x, y, unseen, ["serBilir"])


def present_and_previous(x: pd.DataFrame, y: Values, unseen: pd.DataFrame) -> Values:
    return fit(LinearRegression(), x, y, unseen, ["serBilir", "previous_bilirubin"])


def ridge(x: pd.DataFrame, y: Values, unseen: pd.DataFrame) -> Values:
    model = make_pipeline(StandardScaler(), RidgeCV(np.logspace(-1, 4, 20)))
    return fit(model, x, y, unseen, list(map(str, features(x))))


def forest(x: pd.DataFrame, y: Values, unseen: pd.DataFrame) -> Values:
    return fit(RandomForestRegressor(400, min_samples_leaf=4, max_features=0.6, random_state=SEED), x, y, unseen)


def change_by_boosting(x: pd.DataFrame, y: Values, unseen: pd.DataFrame) -> Values:
    return predict_change(boosting(), x, y, unseen)


def change_by_extra_trees(x: pd.DataFrame, y: Values, unseen: pd.DataFrame) -> Values:
    return predict_change(
        ExtraTreesRegressor(600, min_samples_leaf=4, max_features=0.5, random_state=SEED), x, y, unseen
    )


def blend(x: pd.DataFrame, y: Values, unseen: pd.DataFrame) -> Values:
    model = make_pipeline(StandardScaler(), RidgeCV(np.logspace(-1, 4, 20)))
    parts = [change_by_boosting(x, y, unseen), change_by_extra_trees(x, y, unseen), predict_change(model, x, y, unseen)]
    return np.mean(parts, axis=0)


def boosting() -> LGBMRegressor:
    return LGBMRegressor(
        n_estimators=150, learning_rate=0.03, num_leaves=7, min_child_samples=20, subsample=0.7, subsample_freq=1,
        colsample_bytree=0.6, n_jobs=1, random_state=SEED, verbose=-1,
    )  # fmt: skip


def fit(model: Any, x: pd.DataFrame, y: Values, unseen: pd.DataFrame, columns: list[str] | None = None) -> Values:
    inputs, others = features(x), features(unseen)
    columns = columns or list(map(str, inputs))
    middle = inputs.median()
    return np.asarray(model.fit(inputs[columns].fillna(middle), y).predict(others[columns].fillna(middle)), dtype=float)


def predict_change(model: Any, x: pd.DataFrame, y: Values, unseen: pd.DataFrame) -> Values:
    return present_value(x, y, unseen) + fit(model, x, y - present_value(x, y, x), unseen)


def features(table: pd.DataFrame) -> pd.DataFrame:
    """Return numbers only: signs as codes, concentrations as logarithms, and the slope of the bilirubin."""
    inputs = table.drop(columns=["row_id", "drug", "sex"]).copy()
    for name in ("ascites", "hepatomegaly", "spiders"):
        inputs[name] = inputs[name].map({"Yes": 1.0, "No": 0.0})
    stages = {"No edema": 0.0, "edema no diuretics": 1.0, "edema despite diuretics": 2.0}
    inputs["edema"] = inputs["edema"].map(stages)
    for name in ("serBilir", "previous_bilirubin", "alkaline", "SGOT", "serChol", "prothrombin"):
        inputs[name] = np.log(inputs[name])
    inputs["trend"] = (inputs["serBilir"] - inputs["previous_bilirubin"]).fillna(0.0)
    return inputs


SOLUTIONS: list[Solution] = [
    mean,
    age,
    albumin,
    signs,
    all_but_bilirubin,
    previous_value,
    neighbors,
    tree,
    present_value,
    line_through_present_value,
    present_and_previous,
    ridge,
    forest,
    change_by_boosting,
    change_by_extra_trees,
    blend,
]
