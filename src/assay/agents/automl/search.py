"""Search for a pipeline and write the submission. Runs inside the lab, and reads only `automl.json` and `data/`."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
from flaml import AutoML

DATA = Path("data")
ESTIMATORS = ["lgbm", "rf", "extra_tree", "kneighbor"]
METRICS = {
    "accuracy": "accuracy",
    "rmse": "rmse",
    "rmsle": "rmse",
    "mae": "mae",
    "roc_auc": "roc_auc",
    "log_loss": "log_loss",
}
MAX_CATEGORIES = 50
MAX_CV_ROWS = 20_000


def main() -> None:
    """Load the data, search, predict, and write the submission."""
    config = json.loads(Path("automl.json").read_text())
    train, test = (pd.read_csv(DATA / config["data"][part]) for part in ("train", "test"))
    target = train.pop(config["target"])
    log_target = config["metric"] == "rmsle"
    features = pixel_features if config["kind"] == "image-classification" else table_features
    inputs, unseen = features(config, train, test)
    regression = config["kind"] == "tabular-regression"
    search = AutoML()
    search.fit(
        inputs,
        np.log1p(target) if log_target else target,
        task="regression" if regression else "classification",
        metric=METRICS.get(config["metric"], "auto"),
        time_budget=config["search_seconds"],
        estimator_list=[name for name in ESTIMATORS if not (regression and name == "kneighbor")],
        n_jobs=config["cores"],
        seed=config["seed"],
        eval_method="cv" if len(inputs) <= MAX_CV_ROWS else "holdout",
        n_splits=5,
        retrain_full=True,
        early_stop=True,
        verbose=0,
    )
    predicted = search.predict(unseen)
    answer = np.expm1(predicted) if log_target else predicted
    pd.DataFrame({config["id"]: test[config["id"]], config["target"]: answer}).to_csv(config["submission"], index=False)
    print(f"best: {search.best_estimator} {search.best_config}; validation loss {search.best_loss:.5f}")


def table_features(config: dict, train: pd.DataFrame, test: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the tables without the id; compound codes such as `12_03` or `B/7/P` are also split into their parts."""
    both = pd.concat([train, test], keys=["train", "test"])
    both = both.join(
        pd.concat(
            [split_codes(both[name]) for name in both.select_dtypes(exclude="number")] or [both.iloc[:, :0]], axis=1
        )
    )
    both = both.drop(columns=config["id"])
    for name in both.select_dtypes(exclude="number"):
        values = both[name].astype("string").fillna("missing")
        both[name] = (
            values.astype("category") if values.nunique() <= MAX_CATEGORIES else values.map(values.value_counts())
        )
    return both.loc["train"], both.loc["test"]


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
