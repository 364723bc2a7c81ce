"""Searches for a good pipeline and writes the submission. Runs inside the lab, knows only `automl.json` and `data/`."""

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
MANY_VALUES = 50
FEW_ROWS = 20_000


def main() -> None:
    """Read, search, predict, write."""
    order = json.loads(Path("automl.json").read_text())
    train, test = (pd.read_csv(DATA / order["data"][part]) for part in ("train", "test"))
    target = train.pop(order["target"])
    logarithm = order["metric"] == "rmsle"
    features = pictures if order["kind"] == "image-classification" else columns
    inputs, unseen = features(order, train, test)
    regression = order["kind"] == "tabular-regression"
    search = AutoML()
    search.fit(
        inputs,
        np.log1p(target) if logarithm else target,
        task="regression" if regression else "classification",
        metric=METRICS.get(order["metric"], "auto"),
        time_budget=order["search_seconds"],
        estimator_list=[name for name in ESTIMATORS if not (regression and name == "kneighbor")],
        n_jobs=order["cores"],
        seed=order["seed"],
        eval_method="cv" if len(inputs) <= FEW_ROWS else "holdout",
        n_splits=5,
        retrain_full=True,
        early_stop=True,
        verbose=0,
    )
    predicted = search.predict(unseen)
    answer = np.expm1(predicted) if logarithm else predicted
    pd.DataFrame({order["id"]: test[order["id"]], order["target"]: answer}).to_csv(order["submission"], index=False)
    print(f"best: {search.best_estimator} {search.best_config}; validation loss {search.best_loss:.5f}")


def columns(order: dict, train: pd.DataFrame, test: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Tables as they are, without the id; compound codes such as `12_03` or `B/7/P` also split into their parts."""
    both = pd.concat([train, test], keys=["train", "test"])
    both = both.join(
        pd.concat([parts(both[name]) for name in both.select_dtypes(exclude="number")] or [both.iloc[:, :0]], axis=1)
    )
    both = both.drop(columns=order["id"])
    for name in both.select_dtypes(exclude="number"):
        values = both[name].astype("string").fillna("missing")
        both[name] = values.astype("category") if values.nunique() <= MANY_VALUES else values.map(values.value_counts())
    return both.loc["train"], both.loc["test"]


def parts(column: pd.Series) -> pd.DataFrame:
    """The pieces of a code column whose values all have the same separators, and how often the first piece occurs."""
    text = column.astype("string")
    for separator in ("/", "_"):
        known = text.dropna()
        if len(known) and known.str.count(separator).nunique() == 1 and known.iloc[0].count(separator) > 0:
            split = text.str.split(separator, expand=True)
            split.columns = [f"{column.name} part {number}" for number in split]
            numbers = split.apply(pd.to_numeric, errors="coerce")
            whole = [name for name in split if numbers[name].notna().sum() == split[name].notna().sum()]
            split[whole] = numbers[whole]
            split[f"{column.name} count"] = split.iloc[:, 0].map(split.iloc[:, 0].value_counts())
            return split
    return pd.DataFrame(index=column.index)


def pictures(order: dict, train: pd.DataFrame, test: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Grey pixels of at most 16 x 16, one row per picture."""
    from PIL import Image

    def pixels(names: pd.Series) -> np.ndarray:
        opened = (Image.open(DATA / name).convert("L") for name in names)
        small = (image.resize((min(16, image.width), min(16, image.height))) for image in opened)
        return np.stack([np.asarray(image, dtype=np.float32).ravel() for image in small])

    return pixels(train[order["data"]["image"]]), pixels(test[order["data"]["image"]])


if __name__ == "__main__":
    main()
