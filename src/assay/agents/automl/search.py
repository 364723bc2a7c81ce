"""Search for a pipeline and write the submission. Runs inside the lab, and reads only `automl.json` and `data/`.

A constant prediction is submitted first, then that of a default model, and then that of the search: whatever happens,
for example on a machine that is too busy, the best so far is submitted.
"""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

STARTED = time.monotonic()  # before the imports, which take long on a busy machine

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from sklearn.decomposition import TruncatedSVD  # noqa: E402
from sklearn.dummy import DummyClassifier, DummyRegressor  # noqa: E402
from sklearn.feature_extraction.text import TfidfVectorizer  # noqa: E402

DATA = Path("data")
ESTIMATORS = ["lgbm", "rf", "extra_tree", "kneighbor"]
METRICS = {
    "accuracy": "accuracy",
    "rmse": "rmse",
    "rmsle": "rmse",
    "mean_column_rmsle": "rmse",
    "mae": "mae",
    "roc_auc": "roc_auc",
    "mean_column_roc_auc": "roc_auc",
    "log_loss": "log_loss",
}
LOG_METRICS = ("rmsle", "mean_column_rmsle")
MAX_CATEGORIES = 50
MAX_CV_ROWS = 20_000
MIN_WORDS = 3
"""A column whose cells have at least this many words on average is text."""
TEXT_FEATURES = 32
FOLDS = 5


Table = pd.DataFrame | np.ndarray
Fit = Callable[[dict, Table, pd.Series], Any]
"""Returns a model with `predict` and `predict_proba` that was fitted to the inputs and labels."""


def main() -> None:
    """Load the data and submit three times, each time a better model."""
    config = json.loads(Path("automl.json").read_text())
    train, test = (read_table(DATA / config["data"][part]) for part in ("train", "test"))
    labels = find_labels(config, train)
    submit_constant(config, test, labels)
    print("submitted a constant")
    inputs, unseen = find_features(config, train, test)
    submit(config, test, labels, inputs, unseen, fit_default)
    print("submitted a default model")
    left = config["search_seconds"] - (time.monotonic() - STARTED)
    config["search_seconds"] = max(1.0, left / len(labels.columns))
    submit(config, test, labels, inputs, unseen, fit_counted if config.get("evaluations") else fit_search)


def submit_constant(config: dict, test: pd.DataFrame, labels: pd.DataFrame) -> None:
    """Submit a prediction that does not depend on the inputs."""
    submit(config, test, labels, np.zeros((len(labels), 1)), np.zeros((len(test), 1)), fit_constant)


def find_features(config: dict, train: pd.DataFrame, test: pd.DataFrame) -> tuple[Table, Table]:
    """Return what a model learns from and what it predicts from: features of the tables, or pixels of images."""
    features = pixel_features if config["kind"] == "image-classification" else table_features
    return features(config, train[[name for name in test if name in train]], test)


def submit(config: dict, test: pd.DataFrame, labels: pd.DataFrame, inputs: Table, unseen: Table, fit: Fit) -> None:
    """Predict every column, and replace the submission at once, so that it is whole at any moment."""
    submission = test[[config["id"]]].copy()
    for target in labels:
        known = labels[target].notna().to_numpy()
        predicted = predict(config, inputs[known], labels[target][known], unseen, fit)
        submission[list(predicted) if isinstance(predicted, pd.DataFrame) else target] = predicted
    columns = config["columns"]
    if config["row_sum"] is not None:
        submission[columns] = submission[columns].div(submission[columns].sum(axis=1), axis=0) * config["row_sum"]
    submission[[config["id"], *columns]].to_csv("automl.tmp", index=False)
    Path("automl.tmp").replace(config["submission"])


def fit_constant(config: dict, inputs: Table, labels: pd.Series) -> Any:
    """Fit the median, or the shares of the classes."""
    regression = config["kind"].endswith("regression")
    model = DummyRegressor(strategy="median") if regression else DummyClassifier(strategy="prior")
    return model.fit(inputs, labels)


def fit_default(config: dict, inputs: Table, labels: pd.Series) -> Any:
    """Fit one small model with default settings, which takes seconds."""
    import lightgbm

    regression = config["kind"].endswith("regression")
    kind = lightgbm.LGBMRegressor if regression else lightgbm.LGBMClassifier
    model = kind(n_estimators=50, n_jobs=config["cores"], random_state=config["seed"], verbose=-1)
    return Renamed(model.fit(rename(inputs), labels))


class Renamed:
    """A model whose inputs have plain column names, because LightGBM refuses some characters."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def predict(self, inputs: Table) -> np.ndarray:
        return self._model.predict(rename(inputs))

    def predict_proba(self, inputs: Table) -> np.ndarray:
        return self._model.predict_proba(rename(inputs))


def rename(inputs: Table) -> Table:
    """Return the inputs with numbered columns."""
    return inputs.set_axis(range(inputs.shape[1]), axis=1) if isinstance(inputs, pd.DataFrame) else inputs


def find_labels(config: dict, train: pd.DataFrame) -> pd.DataFrame:
    """Return what to predict: the columns of the submission, or one column whose classes these are."""
    columns, target = config["columns"], config["data"]["target"]
    if all(name in train for name in columns):
        return train[columns]
    if len(columns) == 1:
        return train[[target]].set_axis(columns, axis=1)
    return train[[target]].astype(str)


def predict(config: dict, inputs: Table, labels: pd.Series, unseen: Table, fit: Fit) -> pd.DataFrame | np.ndarray:
    """Fit a model and predict: numbers, labels, the probability of the higher label, or of each label."""
    regression = config["kind"].endswith("regression")
    classes = sorted(labels.unique())
    if not regression and len(classes) == 1:
        return np.full(len(unseen), classes[0])
    logarithm = config["metric"] in LOG_METRICS
    model = fit(config, inputs, np.log1p(labels) if logarithm else labels)
    if regression or not config["probabilities"]:
        predicted = model.predict(unseen)
        return np.expm1(predicted) if logarithm else predicted
    shares = pd.DataFrame(model.predict_proba(unseen), columns=classes)
    if labels.name in config["columns"]:
        return shares.iloc[:, -1].to_numpy()
    return shares.reindex(columns=config["columns"], fill_value=0.0)


def fit_search(config: dict, inputs: Table, labels: pd.Series) -> Any:
    """Search for a pipeline with FLAML for the seconds that the configuration allows."""
    from flaml import AutoML

    regression = config["kind"].endswith("regression")
    metric = METRICS.get(config["metric"], "auto")
    if metric == "roc_auc" and labels.nunique() > 2:
        metric = "auto"
    search = AutoML()
    search.fit(
        inputs,
        labels,
        task="regression" if regression else "classification",
        metric=metric,
        time_budget=config["search_seconds"],
        estimator_list=[name for name in ESTIMATORS if not (regression and name == "kneighbor")],
        n_jobs=config["cores"],
        seed=config["seed"],
        eval_method="cv" if len(inputs) <= MAX_CV_ROWS else "holdout",
        n_splits=FOLDS,
        retrain_full=True,
        early_stop=True,
        verbose=0,
    )
    print(f"{labels.name}: {search.best_estimator} {search.best_config}; validation loss {search.best_loss:.5f}")
    return search


def fit_counted(config: dict, inputs: Table, labels: pd.Series) -> Any:
    """Search a fixed number of random pipelines by cross-validation; what is found depends on the seed alone."""
    import lightgbm
    from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
    from sklearn.model_selection import cross_val_score

    regression = config["kind"].endswith("regression")
    random = np.random.default_rng(config["seed"])
    shared = {"random_state": config["seed"], "n_jobs": config["cores"]}
    boosting = lightgbm.LGBMRegressor if regression else lightgbm.LGBMClassifier
    trees = ExtraTreesRegressor if regression else ExtraTreesClassifier
    plain = not isinstance(inputs, pd.DataFrame) or not ((inputs.dtypes == "category") | inputs.isna().any()).any()
    best, best_score = None, -np.inf
    for number in range(config["evaluations"]):
        if plain and number % 3 == 1:
            model = trees(
                300, min_samples_leaf=int(random.integers(1, 6)), max_features=random.uniform(0.1, 0.9), **shared
            )
        else:
            model = boosting(
                n_estimators=int(random.integers(60, 400)),
                learning_rate=float(10 ** random.uniform(-2, -0.7)),
                num_leaves=int(random.integers(4, 48)),
                min_child_samples=int(random.integers(5, 40)),
                colsample_bytree=random.uniform(0.3, 1.0),
                subsample=random.uniform(0.5, 1.0),
                subsample_freq=1,
                verbose=-1,
                **shared,
            )
        scoring = "neg_mean_squared_error" if regression else "neg_log_loss" if config["probabilities"] else "accuracy"
        score = cross_val_score(model, rename(inputs), labels, cv=3, scoring=scoring).mean()
        print(f"{labels.name}: pipeline {number + 1} of {config['evaluations']}, {scoring} {score:.5f}", flush=True)
        if score > best_score:
            best, best_score = model, score
    return Renamed(best.fit(rename(inputs), labels))


def read_table(path: Path) -> pd.DataFrame:
    """Read a CSV, TSV or JSON table, also as the only file in a zip."""
    name = path.name.removesuffix(".zip")
    if name.endswith(".json"):
        return pd.read_json(path)
    return pd.read_csv(path, sep="\t" if name.endswith(".tsv") else ",")


def table_features(config: dict, train: pd.DataFrame, test: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the tables as features: no id, text as topics, and compound codes such as `12_03` also by their parts."""
    both = pd.concat([train, test], keys=["train", "test"])
    words = [name for name in both.select_dtypes(exclude="number") if is_text(both[name])]
    parts = [text_features(both[name], config["seed"]) for name in words]
    both = both.drop(columns=words)
    parts += [split_codes(both[name]) for name in both.select_dtypes(exclude="number")]
    both = pd.concat([both, *parts], axis=1).drop(columns=config["id"], errors="ignore")
    for name in both.select_dtypes(exclude="number"):
        values = both[name].astype("string").fillna("missing")
        both[name] = (
            values.astype("category") if values.nunique() <= MAX_CATEGORIES else values.map(values.value_counts())
        )
    return both.loc["train"], both.loc["test"]


def is_text(column: pd.Series) -> bool:
    """Whether the cells of a column are text of several words."""
    return column.dropna().astype("string").str.count(r"\S+").mean() >= MIN_WORDS


def text_features(column: pd.Series, seed: int) -> pd.DataFrame:
    """Return the length of each text and its main components by words."""
    text = column.fillna("").astype(str)
    words = TfidfVectorizer(sublinear_tf=True, max_features=50_000, token_pattern=r"\S+").fit_transform(text)
    topics = TruncatedSVD(min(TEXT_FEATURES, words.shape[1] - 1), random_state=seed).fit_transform(words)
    names = [f"{column.name} topic {number}" for number in range(topics.shape[1])]
    table = pd.DataFrame(topics, index=column.index, columns=names)
    return table.assign(**{f"{column.name} length": text.str.len()})


def split_codes(column: pd.Series) -> pd.DataFrame:
    """Split a column of codes that all have the same separators; also count how often the first part occurs."""
    text = column.astype("string")
    for separator in ("/", "_"):
        known = text.dropna()
        if len(known) and known.str.count(separator).nunique() == 1 and known.iloc[0].count(separator) > 0:
            split = text.str.split(separator, expand=True)
            split.columns = [f"{column.name} part {number}" for number in split]
            numbers = split.apply(pd.to_numeric, errors="coerce")
            numeric = [name for name in split if numbers[name].notna().sum() == split[name].notna().sum()]
            split[numeric] = numbers[numeric]
            split[f"{column.name} count"] = split.iloc[:, 0].map(split.iloc[:, 0].value_counts())
            return split
    return pd.DataFrame(index=column.index)


def pixel_features(config: dict, train: pd.DataFrame, test: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return the pixels of each image in grayscale, at most 16 x 16, one row per image."""
    from PIL import Image

    def pixels(names: pd.Series) -> np.ndarray:
        opened = (Image.open(DATA / name).convert("L") for name in names)
        small = (image.resize((min(16, image.width), min(16, image.height))) for image in opened)
        return np.stack([np.asarray(image, dtype=np.float32).ravel() for image in small])

    return pixels(train[config["data"]["image"]]), pixels(test[config["data"]["image"]])


if __name__ == "__main__":
    main()
