"""Reference solutions, from the weakest to the strongest; all work with the logarithm of the price."""

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from lightgbm import LGBMRegressor
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesRegressor, GradientBoostingRegressor, RandomForestRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

SEED = int(os.environ.get("SEED", "0"))
Values = NDArray[np.float64]
Interval = tuple[Values, Values]
Solution = Callable[[pd.DataFrame, Values, pd.DataFrame], Interval]
GRADES = {
    "cut": ["Fair", "Good", "Very Good", "Premium", "Ideal"],
    "color": list("JIHGFED"),
    "clarity": ["I1", "SI2", "SI1", "VS2", "VS1", "VVS2", "VVS1", "IF"],
}


def write_submission(solution: Solution) -> None:
    train, test = pd.read_csv("data/train.csv"), pd.read_csv("data/test.csv")
    prices = np.log(train["price"].to_numpy(dtype=float))
    low, high = solution(encode(train), prices, encode(test))
    test["low"], test["high"] = np.exp(low).clip(min=1), np.exp(high).clip(min=1)
    test[["stone", "low", "high"]].to_csv("submission.csv", index=False)


def full_range(x: pd.DataFrame, y: Values, unseen: pd.DataFrame) -> Interval:
    return np.full(len(unseen), y.min()), np.full(len(unseen), y.max())


def quantiles_of_all(x: pd.DataFrame, y: Values, unseen: pd.DataFrame) -> Interval:
    low, high = np.quantile(y, [0.05, 0.95])
    return np.full(len(unseen), low), np.full(len(unseen), high)


def two_classes_of_weight(x: pd.DataFrame, y: Values, unseen: pd.DataFrame) -> Interval:
    return by_class(x["carat"] > 0.7, y, unseen["carat"] > 0.7)


def five_classes_of_weight(x: pd.DataFrame, y: Values, unseen: pd.DataFrame) -> Interval:
    limits = np.quantile(x["carat"], np.linspace(0, 1, 6)[1:-1])
    return by_class(pd.Series(np.digitize(x["carat"], limits)), y, pd.Series(np.digitize(unseen["carat"], limits)))


def line_on_weight(x: pd.DataFrame, y: Values, unseen: pd.DataFrame) -> Interval:
    return around(LinearRegression(), x[["carat"]], y, unseen[["carat"]])


def neighbors(x: pd.DataFrame, y: Values, unseen: pd.DataFrame) -> Interval:
    return around(make_pipeline(StandardScaler(), KNeighborsRegressor(7)), x, y, unseen)


def line_on_log_weight(x: pd.DataFrame, y: Values, unseen: pd.DataFrame) -> Interval:
    return around(LinearRegression(), x[["log_carat"]], y, unseen[["log_carat"]])


def line_on_all(x: pd.DataFrame, y: Values, unseen: pd.DataFrame) -> Interval:
    return around(LinearRegression(), x, y, unseen)


def forest(x: pd.DataFrame, y: Values, unseen: pd.DataFrame) -> Interval:
    return around(RandomForestRegressor(200, max_features=0.5, random_state=SEED), x, y, unseen)


def quantile_boosting(x: pd.DataFrame, y: Values, unseen: pd.DataFrame) -> Interval:
    ends = []
    for level in (0.05, 0.95):
        model = GradientBoostingRegressor(
            loss="quantile", alpha=level, n_estimators=150, max_depth=3, subsample=0.7, random_state=SEED
        )
        ends.append(model.fit(x, y).predict(unseen))
    return ends[0], ends[1]


def residuals_of_line(x: pd.DataFrame, y: Values, unseen: pd.DataFrame) -> Interval:
    """Boosting corrects the line, and both together have one width for all."""
    line = LinearRegression().fit(x, y)
    rest = y - line.predict(x)
    low, high = around(boosting(), x, rest, unseen)
    return line.predict(unseen) + low, line.predict(unseen) + high


def extra_trees(x: pd.DataFrame, y: Values, unseen: pd.DataFrame) -> Interval:
    return around(ExtraTreesRegressor(400, max_features=0.7, random_state=SEED), x, y, unseen)


def boosting_with_one_width(x: pd.DataFrame, y: Values, unseen: pd.DataFrame) -> Interval:
    return around(boosting(), x, y, unseen)


def boosting_with_learned_width(x: pd.DataFrame, y: Values, unseen: pd.DataFrame) -> Interval:
    return scaled_by_error(boosting(), x, y, unseen)


def gaussian_process(x: pd.DataFrame, y: Values, unseen: pd.DataFrame) -> Interval:
    return scaled_by_error(process(), x, y, unseen)


def blend(x: pd.DataFrame, y: Values, unseen: pd.DataFrame) -> Interval:
    class Mean:
        def fit(self, x: Any, y: Any) -> "Mean":
            self.models = [model.fit(x, y) for model in (boosting(), process())]
            return self

        def predict(self, x: Any) -> Any:
            return np.mean([model.predict(x) for model in self.models], axis=0)

    return scaled_by_error(Mean(), x, y, unseen)


def boosting() -> Any:
    return LGBMRegressor(
        n_estimators=400, learning_rate=0.04, num_leaves=10, min_child_samples=8, subsample=0.7, subsample_freq=1,
        colsample_bytree=0.7, n_jobs=1, random_state=SEED, verbose=-1,
    )  # fmt: skip


def process() -> Any:
    kernel = RBF(5.0) + WhiteKernel(0.005)
    return make_pipeline(StandardScaler(), GaussianProcessRegressor(kernel, normalize_y=True, optimizer=None))


def by_class(groups: pd.Series, y: Values, others: pd.Series) -> Interval:
    ends = pd.Series(y, index=groups.index).groupby(groups).quantile(np.array([0.05, 0.95])).unstack()
    low, high = (np.asarray(others.map(ends[level]), dtype=float) for level in (0.05, 0.95))
    return low, high


def around(model: Any, x: pd.DataFrame, y: Values, unseen: pd.DataFrame) -> Interval:
    """Return one width for all: the quantiles of the model's errors in cross-validation."""
    low, high = np.quantile(y - out_of_fold(model, x, y), [0.05, 0.95])
    middle = model.fit(x, y).predict(unseen)
    return middle + low, middle + high


def scaled_by_error(model: Any, x: pd.DataFrame, y: Values, unseen: pd.DataFrame) -> Interval:
    """Return a width that is proportional to the error a forest expects of the model for such a stone."""
    errors = y - out_of_fold(model, x, y)
    spread = RandomForestRegressor(300, min_samples_leaf=15, random_state=SEED)
    expected = out_of_fold(spread, x, np.abs(errors))
    low, high = np.quantile(errors / expected, [0.05, 0.95])
    width = spread.fit(x, np.abs(errors)).predict(unseen)
    middle = model.fit(x, y).predict(unseen)
    return middle + low * width, middle + high * width


def out_of_fold(model: Any, x: pd.DataFrame, y: Values) -> Values:
    folds = KFold(5, shuffle=True, random_state=SEED)
    predicted = np.empty(len(y))
    for rows, others in folds.split(x):
        predicted[others] = model.fit(x.iloc[rows], y[rows]).predict(x.iloc[others])
    return predicted


def encode(table: pd.DataFrame) -> pd.DataFrame:
    """Return numbers: grades from worst to best, and the logarithm of the weight."""
    numbers = table[["carat", "depth", "table", "x", "y", "z"]].astype(float)
    for name, order in GRADES.items():
        numbers[name] = table[name].map({grade: float(rank) for rank, grade in enumerate(order)})
    return numbers.assign(log_carat=np.log(numbers["carat"]))


SOLUTIONS: list[Solution] = [
    full_range,
    quantiles_of_all,
    two_classes_of_weight,
    line_on_weight,
    five_classes_of_weight,
    line_on_log_weight,
    neighbors,
    quantile_boosting,
    line_on_all,
    forest,
    residuals_of_line,
    extra_trees,
    boosting_with_one_width,
    boosting_with_learned_width,
    gaussian_process,
    blend,
]
