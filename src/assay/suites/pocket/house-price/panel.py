"""Reference solutions, from the weakest to the strongest.

All but the first predict the logarithm of the price, which is what the metric compares.
"""

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from lightgbm import LGBMRegressor
from numpy.typing import NDArray
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LassoCV, LinearRegression, RidgeCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor

SEED = int(os.environ.get("SEED", "0"))
Prices = NDArray[np.float64]
Solution = Callable[[pd.DataFrame, Prices, pd.DataFrame], Prices]
GRADES = {"Po": 1, "Fa": 2, "TA": 3, "Gd": 4, "Ex": 5}


def write_submission(solution: Solution) -> None:
    train, test = (pd.read_csv(f"data/{part}.csv") for part in ("train", "test"))
    prices = np.log1p(train["SalePrice"].to_numpy(dtype=float))
    features = list(test.columns.drop("row_id"))
    test["SalePrice"] = np.expm1(solution(train[features], prices, test[features]))
    test[["row_id", "SalePrice"]].to_csv("submission.csv", index=False)


def mean_price(x: pd.DataFrame, y: Prices, unseen: pd.DataFrame) -> Prices:
    return np.full(len(unseen), np.log1p(np.expm1(y).mean()))


def mean_of_logarithm(x: pd.DataFrame, y: Prices, unseen: pd.DataFrame) -> Prices:
    return np.full(len(unseen), y.mean())


def size_of_lot(x: pd.DataFrame, y: Prices, unseen: pd.DataFrame) -> Prices:
    return predict_linearly(x, y, unseen, ["LotArea"])


def living_area(x: pd.DataFrame, y: Prices, unseen: pd.DataFrame) -> Prices:
    return predict_linearly(x, y, unseen, ["GrLivArea"])


def neighbourhood(x: pd.DataFrame, y: Prices, unseen: pd.DataFrame) -> Prices:
    means = pd.Series(y).groupby(x["Neighborhood"].to_numpy()).mean()
    return np.asarray(unseen["Neighborhood"].map(means).fillna(y.mean()), dtype=np.float64)


def overall_quality(x: pd.DataFrame, y: Prices, unseen: pd.DataFrame) -> Prices:
    return predict_linearly(x, y, unseen, ["OverallQual"])


def three_columns(x: pd.DataFrame, y: Prices, unseen: pd.DataFrame) -> Prices:
    return predict_linearly(x, y, unseen, ["OverallQual", "GrLivArea", "YearBuilt"])


def decision_tree(x: pd.DataFrame, y: Prices, unseen: pd.DataFrame) -> Prices:
    return predict_from_numbers(DecisionTreeRegressor(min_samples_leaf=5, random_state=SEED), x, y, unseen)


def ridge_on_numbers(x: pd.DataFrame, y: Prices, unseen: pd.DataFrame) -> Prices:
    return predict_from_numbers(RidgeCV(np.logspace(-1, 4, 20)), x, y, unseen)


def nearest_neighbours(x: pd.DataFrame, y: Prices, unseen: pd.DataFrame) -> Prices:
    return predict_from_numbers(KNeighborsRegressor(8, weights="distance"), x, y, unseen)


def ridge_on_everything(x: pd.DataFrame, y: Prices, unseen: pd.DataFrame) -> Prices:
    return predict_from_all(RidgeCV(np.logspace(0, 3, 20)), x, y, unseen)


def boosted_trees(x: pd.DataFrame, y: Prices, unseen: pd.DataFrame) -> Prices:
    return predict_from_all(LGBMRegressor(random_state=SEED, n_jobs=1, verbose=-1), x, y, unseen)


def random_forest(x: pd.DataFrame, y: Prices, unseen: pd.DataFrame) -> Prices:
    return predict_from_numbers(RandomForestRegressor(300, max_features=0.4, random_state=SEED), x, y, unseen)


def lasso(x: pd.DataFrame, y: Prices, unseen: pd.DataFrame) -> Prices:
    return predict_from_all(
        LassoCV(alphas=np.logspace(-3.5, -1.5, 20), random_state=SEED), linearize(x), y, linearize(unseen)
    )


def slow_boosted_trees(x: pd.DataFrame, y: Prices, unseen: pd.DataFrame) -> Prices:
    return predict_from_all(boosting(), add_features(x), y, add_features(unseen))


def blend(x: pd.DataFrame, y: Prices, unseen: pd.DataFrame) -> Prices:
    x, unseen = linearize(x), linearize(unseen)
    models = [
        LassoCV(alphas=np.logspace(-3.5, -1.5, 20), random_state=SEED),
        SVR(C=1, gamma=0.0005, epsilon=0.01),
        boosting(),
    ]
    return np.mean([predict_from_all(model, x, y, unseen) for model in models], axis=0)


def predict_linearly(x: pd.DataFrame, y: Prices, unseen: pd.DataFrame, columns: list[str]) -> Prices:
    return LinearRegression().fit(x[columns], y).predict(unseen[columns])


def predict_from_numbers(model: Any, x: pd.DataFrame, y: Prices, unseen: pd.DataFrame) -> Prices:
    columns = list(x.select_dtypes("number"))
    prepared = make_pipeline(SimpleImputer(strategy="median"), StandardScaler(), model)
    return prepared.fit(x[columns], y).predict(unseen[columns])


def predict_from_all(model: Any, x: pd.DataFrame, y: Prices, unseen: pd.DataFrame) -> Prices:
    numbers = list(x.select_dtypes("number"))
    words = [name for name in x if name not in numbers]
    columns = make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numbers),
        (OneHotEncoder(min_frequency=5, handle_unknown="infrequent_if_exist", sparse_output=False), words),
    ).set_output(transform="default")
    return Pipeline([("columns", columns), ("model", model)]).fit(x, y).predict(unseen)


def boosting() -> GradientBoostingRegressor:
    return GradientBoostingRegressor(
        n_estimators=800, learning_rate=0.03, max_depth=4, max_features=0.1, min_samples_leaf=6, subsample=0.7,
        loss="huber", random_state=SEED,
    )  # fmt: skip


def add_features(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with grades as numbers and additional features."""
    table = table.copy()
    for name in table.select_dtypes(exclude="number"):
        if set(table[name].dropna()) <= set(GRADES):
            table[name] = table[name].map(GRADES).fillna(0).astype(float)
    table["TotalArea"] = table["GrLivArea"] + table["TotalBsmtSF"]
    table["Baths"] = table["FullBath"] + table["HalfBath"] / 2 + table["BsmtFullBath"] + table["BsmtHalfBath"] / 2
    table["Age"] = table["YrSold"] - table["YearBuilt"]
    table["SinceWork"] = table["YrSold"] - table["YearRemodAdd"]
    table["Porch"] = table[["OpenPorchSF", "EnclosedPorch", "3SsnPorch", "ScreenPorch", "WoodDeckSF"]].sum(axis=1)
    table["QualityArea"] = table["OverallQual"] * table["TotalArea"]
    return table.astype({"MSSubClass": str, "MoSold": str})


def linearize(table: pd.DataFrame) -> pd.DataFrame:
    """Return the same features with skewed amounts on a logarithmic scale, for linear models."""
    table = add_features(table)
    for name in table.select_dtypes("number"):
        if table[name].max() > 50 and "Y" not in str(name):
            table[name] = np.log1p(table[name].clip(lower=0))
    return table


SOLUTIONS: list[Solution] = [
    mean_price,
    mean_of_logarithm,
    size_of_lot,
    living_area,
    neighbourhood,
    overall_quality,
    three_columns,
    decision_tree,
    ridge_on_numbers,
    nearest_neighbours,
    ridge_on_everything,
    boosted_trees,
    random_forest,
    lasso,
    slow_boosted_trees,
    blend,
]
