"""Reference solutions, from the weakest to the strongest."""

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from lightgbm import LGBMRegressor
from numpy.typing import NDArray
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LassoCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeRegressor

SEED = int(os.environ.get("SEED", "0"))
Prices = NDArray[np.float64]
Solution = Callable[[pd.DataFrame, Prices, pd.DataFrame], Prices]


def median_price(x: pd.DataFrame, y: Prices, unseen: pd.DataFrame) -> Prices:
    return np.full(len(unseen), np.median(y))


def decision_tree(x: pd.DataFrame, y: Prices, unseen: pd.DataFrame) -> Prices:
    return predict_from_all(DecisionTreeRegressor(min_samples_leaf=5, random_state=SEED), x, y, unseen)


def boosted_trees(x: pd.DataFrame, y: Prices, unseen: pd.DataFrame) -> Prices:
    return predict_from_all(LGBMRegressor(random_state=SEED, n_jobs=1, verbose=-1), x, y, unseen)


def random_forest(x: pd.DataFrame, y: Prices, unseen: pd.DataFrame) -> Prices:
    return predict_from_all(RandomForestRegressor(200, max_features=0.3, random_state=SEED), x, y, unseen)


def blend(x: pd.DataFrame, y: Prices, unseen: pd.DataFrame) -> Prices:
    """Average a linear model and slow boosting, both on the logarithm of the price."""
    models = [
        LassoCV(alphas=np.logspace(-3.5, -1.5, 20), random_state=SEED),
        GradientBoostingRegressor(
            n_estimators=800, learning_rate=0.03, max_depth=4, max_features=0.1, min_samples_leaf=6, subsample=0.7,
            loss="huber", random_state=SEED,
        ),
    ]  # fmt: skip
    logarithmic = [TransformedTargetRegressor(model, func=np.log1p, inverse_func=np.expm1) for model in models]
    return np.mean([predict_from_all(model, x, y, unseen) for model in logarithmic], axis=0)


def predict_from_all(model: Any, x: pd.DataFrame, y: Prices, unseen: pd.DataFrame) -> Prices:
    numbers = list(x.select_dtypes("number"))
    columns = make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numbers),
        (
            OneHotEncoder(min_frequency=5, handle_unknown="infrequent_if_exist", sparse_output=False),
            [name for name in x if name not in numbers],
        ),
    )
    return make_pipeline(columns, model).fit(x, y).predict(unseen)


SOLUTIONS: list[Solution] = [median_price, decision_tree, boosted_trees, random_forest, blend]


def write_submission(solution: Solution) -> None:
    train, test = (pd.read_csv(f"data/{part}.csv") for part in ("train", "test"))
    features = list(test.columns.drop("Id"))
    prices = train["SalePrice"].to_numpy(dtype=float)
    test["SalePrice"] = solution(train[features], prices, test[features])
    test[["Id", "SalePrice"]].to_csv("submission.csv", index=False)
