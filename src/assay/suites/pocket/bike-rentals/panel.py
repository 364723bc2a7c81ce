"""Reference solutions, from the weakest to the strongest.

All but the first predict the logarithm of the rentals, which is what the metric compares.
"""

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from lightgbm import LGBMRegressor
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.preprocessing import OneHotEncoder

SEED = int(os.environ.get("SEED", "0"))
Values = NDArray[np.float64]
Solution = Callable[[pd.DataFrame, Values, pd.DataFrame], Values]
NUMBERS = ["hour", "workingday", "holiday", "weekday", "temp", "atemp", "hum", "windspeed", "day"]


def write_submission(solution: Solution) -> None:
    train, test = pd.read_csv("data/train.csv"), pd.read_csv("data/test.csv")
    log_rentals = np.log1p(train["rentals"].to_numpy(dtype=float))
    test["rentals"] = np.expm1(solution(train, log_rentals, test)).clip(min=0)
    test[["hour_id", "rentals"]].to_csv("submission.csv", index=False)


def mean_of_rentals(x: pd.DataFrame, y: Values, unseen: pd.DataFrame) -> Values:
    return np.full(len(unseen), np.log1p(np.expm1(y).mean()))


def mean_of_logarithm(x: pd.DataFrame, y: Values, unseen: pd.DataFrame) -> Values:
    return np.full(len(unseen), y.mean())


def temperature(x: pd.DataFrame, y: Values, unseen: pd.DataFrame) -> Values:
    return LinearRegression().fit(x[["temp"]], y).predict(unseen[["temp"]])


def weather(x: pd.DataFrame, y: Values, unseen: pd.DataFrame) -> Values:
    columns = ["temp", "hum", "windspeed"]
    return LinearRegression().fit(x[columns], y).predict(unseen[columns])


def numbers(x: pd.DataFrame, y: Values, unseen: pd.DataFrame) -> Values:
    return LinearRegression().fit(x[NUMBERS[:-1]], y).predict(unseen[NUMBERS[:-1]])


def mean_by_hour(x: pd.DataFrame, y: Values, unseen: pd.DataFrame) -> Values:
    return group_means(x, y, unseen, ["hour"])


def forest_on_numbers(x: pd.DataFrame, y: Values, unseen: pd.DataFrame) -> Values:
    model = RandomForestRegressor(60, min_samples_leaf=60, max_features=0.4, random_state=SEED)
    return model.fit(x[NUMBERS], y).predict(unseen[NUMBERS])


def mean_by_hour_and_kind_of_day(x: pd.DataFrame, y: Values, unseen: pd.DataFrame) -> Values:
    return group_means(x, y, unseen, ["hour", "workingday"])


def mean_of_the_last_month(x: pd.DataFrame, y: Values, unseen: pd.DataFrame) -> Values:
    recent = (x["month"] == "Sept").to_numpy()
    return group_means(x[recent], y[recent], unseen, ["hour", "workingday"])


def hours_and_temperature(x: pd.DataFrame, y: Values, unseen: pd.DataFrame) -> Values:
    return fit_one_hot(x, y, unseen, ["hour", "workingday"], ["temp"])


def hours_and_weather(x: pd.DataFrame, y: Values, unseen: pd.DataFrame) -> Values:
    return fit_one_hot(x, y, unseen, ["hour_of_kind", "weathersit"], ["temp", "hum", "windspeed"])


def forest(x: pd.DataFrame, y: Values, unseen: pd.DataFrame) -> Values:
    columns = [name for name in NUMBERS if name != "day"]
    model = RandomForestRegressor(150, min_samples_leaf=2, max_features=0.5, random_state=SEED)
    return model.fit(x[columns], y).predict(unseen[columns])


def boosting(x: pd.DataFrame, y: Values, unseen: pd.DataFrame) -> Values:
    columns = [name for name in NUMBERS if name != "day"]
    model = LGBMRegressor(n_estimators=150, learning_rate=0.08, num_leaves=24, **lightgbm_settings())
    return np.asarray(model.fit(x[columns], y).predict(unseen[columns]), dtype=float)


def level_of_recent_months(x: pd.DataFrame, y: Values, unseen: pd.DataFrame) -> Values:
    """Boosting on what remains after the level of the summer: the company grew in its first half year."""
    recent = (x["day"] > 120).to_numpy()
    return boosting(x[recent], y[recent], unseen)


def extra_trees_on_summer(x: pd.DataFrame, y: Values, unseen: pd.DataFrame) -> Values:
    recent = (x["day"] > 90).to_numpy()
    columns = [name for name in NUMBERS if name != "day"]
    model = ExtraTreesRegressor(300, min_samples_leaf=2, max_features=0.7, random_state=SEED)
    return model.fit(x[columns][recent], y[recent]).predict(unseen[columns])


def blend(x: pd.DataFrame, y: Values, unseen: pd.DataFrame) -> Values:
    parts = [level_of_recent_months(x, y, unseen), extra_trees_on_summer(x, y, unseen)]
    return np.mean([*parts, hours_and_weather(x[x["day"] > 90], y[(x["day"] > 90).to_numpy()], unseen)], axis=0)


def lightgbm_settings() -> dict[str, Any]:
    return {"n_jobs": 1, "random_state": SEED, "verbose": -1, "subsample": 0.8, "subsample_freq": 1}


def group_means(x: pd.DataFrame, y: Values, unseen: pd.DataFrame, keys: list[str]) -> Values:
    means = pd.Series(y, index=x.index).groupby([x[key] for key in keys]).mean()
    index = pd.MultiIndex.from_frame(unseen[keys]) if len(keys) > 1 else pd.Index(unseen[keys[0]])
    return np.asarray(means.reindex(index).fillna(y.mean()), dtype=float)


def fit_one_hot(x: pd.DataFrame, y: Values, unseen: pd.DataFrame, classes: list[str], amounts: list[str]) -> Values:
    x, unseen = (
        part.assign(hour_of_kind=part["hour"].astype(str) + "/" + part["workingday"].astype(str))
        for part in (x, unseen)
    )
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False).fit(x[classes])
    inputs = [np.hstack([encoder.transform(part[classes]), part[amounts]]) for part in (x, unseen)]
    return Ridge(1.0).fit(inputs[0], y).predict(inputs[1])


SOLUTIONS: list[Solution] = [
    mean_of_rentals,
    mean_of_logarithm,
    temperature,
    weather,
    numbers,
    mean_by_hour,
    forest_on_numbers,
    mean_by_hour_and_kind_of_day,
    mean_of_the_last_month,
    hours_and_temperature,
    hours_and_weather,
    forest,
    boosting,
    level_of_recent_months,
    extra_trees_on_summer,
    blend,
]
