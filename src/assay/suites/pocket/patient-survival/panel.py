"""Reference solutions, from the weakest to the strongest."""

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from lightgbm import LGBMRegressor
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.stats import rankdata
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

SEED = int(os.environ.get("SEED", "0"))
Values = NDArray[np.float64]
Solution = Callable[[pd.DataFrame, Values, Values, pd.DataFrame], Values]


def write_submission(solution: Solution) -> None:
    train, test = pd.read_csv("data/train.csv"), pd.read_csv("data/test.csv")
    days, died = (train.pop(name).to_numpy(dtype=float) for name in ("days", "died"))
    test["risk"] = solution(train, days, died, test)
    test[["patient", "risk"]].to_csv("submission.csv", index=False)


def constant(x: pd.DataFrame, days: Values, died: Values, unseen: pd.DataFrame) -> Values:
    return np.zeros(len(unseen))


def temperature(x: pd.DataFrame, days: Values, died: Values, unseen: pd.DataFrame) -> Values:
    return np.asarray(unseen["temp"].fillna(37.0).sub(37.0).abs(), dtype=float)


def age(x: pd.DataFrame, days: Values, died: Values, unseen: pd.DataFrame) -> Values:
    return np.asarray(unseen["age"], dtype=float)


def coma(x: pd.DataFrame, days: Values, died: Values, unseen: pd.DataFrame) -> Values:
    return np.asarray(unseen["scoma"].fillna(0.0), dtype=float)


def urea(x: pd.DataFrame, days: Values, died: Values, unseen: pd.DataFrame) -> Values:
    return np.asarray(unseen["bun"].fillna(x["bun"].median()), dtype=float)


def neighbors(x: pd.DataFrame, days: Values, died: Values, unseen: pd.DataFrame) -> Values:
    return predict(make_pipeline(StandardScaler(), KNeighborsRegressor(40)), x, hazard(days, died), unseen)


def died_at_all(x: pd.DataFrame, days: Values, died: Values, unseen: pd.DataFrame) -> Values:
    inputs, others = encode(x, unseen)
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.05, max_iter=500))
    return model.fit(inputs, died).predict_proba(others)[:, 1]


def condition(x: pd.DataFrame, days: Values, died: Values, unseen: pd.DataFrame) -> Values:
    means = pd.Series(hazard(days, died)).groupby(x["dzgroup"].to_numpy()).mean()
    return np.asarray(unseen["dzgroup"].map(means), dtype=float)


def condition_and_coma(x: pd.DataFrame, days: Values, died: Values, unseen: pd.DataFrame) -> Values:
    parts = [condition(x, days, died, unseen), coma(x, days, died, unseen)]
    return np.sum([rankdata(part) for part in parts], axis=0)


def regression_on_days(x: pd.DataFrame, days: Values, died: Values, unseen: pd.DataFrame) -> Values:
    return -predict(make_pipeline(StandardScaler(), RidgeCV(np.logspace(0, 4, 9))), x, np.log1p(days), unseen)


def line_of_hazard(x: pd.DataFrame, days: Values, died: Values, unseen: pd.DataFrame) -> Values:
    return predict(LinearRegression(), x, hazard(days, died), unseen)


def died_within_half_a_year(x: pd.DataFrame, days: Values, died: Values, unseen: pd.DataFrame) -> Values:
    inputs, others = encode(x, unseen)
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.05, max_iter=500))
    return model.fit(inputs, (days < 180) & (died > 0)).predict_proba(others)[:, 1]


def boosted_hazard(x: pd.DataFrame, days: Values, died: Values, unseen: pd.DataFrame) -> Values:
    model = LGBMRegressor(
        n_estimators=200, learning_rate=0.03, num_leaves=8, min_child_samples=20, colsample_bytree=0.5, subsample=0.7,
        subsample_freq=1, n_jobs=1, random_state=SEED, verbose=-1,
    )  # fmt: skip
    return predict(model, x, hazard(days, died), unseen)


def forest_of_hazard(x: pd.DataFrame, days: Values, died: Values, unseen: pd.DataFrame) -> Values:
    return predict(
        RandomForestRegressor(400, min_samples_leaf=5, max_features=0.3, random_state=SEED),
        x,
        hazard(days, died),
        unseen,
    )


def extra_trees_of_hazard(x: pd.DataFrame, days: Values, died: Values, unseen: pd.DataFrame) -> Values:
    return predict(
        ExtraTreesRegressor(500, min_samples_leaf=4, max_features=0.4, random_state=SEED), x, hazard(days, died), unseen
    )


def proportional_hazards(x: pd.DataFrame, days: Values, died: Values, unseen: pd.DataFrame) -> Values:
    inputs, others = encode(x, unseen)
    scaler = StandardScaler().fit(inputs)
    return scaler.transform(others) @ fit_cox(scaler.transform(inputs), days, died, penalty=20.0)


def blend(x: pd.DataFrame, days: Values, died: Values, unseen: pd.DataFrame) -> Values:
    solutions = (boosted_hazard, extra_trees_of_hazard, proportional_hazards)
    return np.mean([rankdata(solution(x, days, died, unseen)) for solution in solutions], axis=0)


def hazard(days: Values, died: Values) -> Values:
    """Return the martingale residual of each patient: deaths minus what the Nelson-Aalen estimate expects by then."""
    order = np.argsort(days, kind="stable")
    at_risk = len(days) - np.arange(len(days))
    expected = np.empty(len(days))
    expected[order] = np.cumsum(died[order] / at_risk)
    return died - expected


def fit_cox(x: Values, days: Values, died: Values, penalty: float) -> Values:
    """Maximize Cox's partial likelihood with a ridge penalty; ties are broken by the order of rows."""
    order = np.argsort(-days, kind="stable")
    x, died = x[order], died[order]

    def loss(weights: Values) -> tuple[float, Values]:
        score = x @ weights
        risk = np.exp(score - score.max())
        total = np.cumsum(risk)
        mean = np.cumsum(risk[:, None] * x, axis=0) / total[:, None]
        value = -np.sum(died * (score - score.max() - np.log(total))) + penalty * weights @ weights
        return value, -(died[:, None] * (x - mean)).sum(axis=0) + 2 * penalty * weights

    return minimize(loss, np.zeros(x.shape[1]), jac=True, method="L-BFGS-B").x


def predict(model: Any, x: pd.DataFrame, y: Values, unseen: pd.DataFrame) -> Values:
    inputs, others = encode(x, unseen)
    return np.asarray(model.fit(inputs, y).predict(others), dtype=float)


def encode(x: pd.DataFrame, unseen: pd.DataFrame) -> tuple[Values, Values]:
    """Return numbers: classes as indicator columns, gaps filled by the median and marked."""
    both = pd.concat([x, unseen]).drop(columns="patient")
    numbers = both.select_dtypes("number")
    classes = pd.get_dummies(both.drop(columns=numbers.columns), dtype=float)
    gaps = numbers.isna().astype(float).add_prefix("no ")
    filled = numbers.fillna(numbers[: len(x)].median())
    skewed = filled.columns[filled.min() >= 0]
    filled[skewed] = np.log1p(filled[skewed])
    table = np.hstack([filled, gaps.loc[:, gaps.any()], classes]).astype(float)
    return table[: len(x)], table[len(x) :]


SOLUTIONS: list[Solution] = [
    constant,
    temperature,
    age,
    coma,
    urea,
    neighbors,
    died_at_all,
    condition,
    condition_and_coma,
    regression_on_days,
    line_of_hazard,
    died_within_half_a_year,
    boosted_hazard,
    forest_of_hazard,
    extra_trees_of_hazard,
    proportional_hazards,
    blend,
]
