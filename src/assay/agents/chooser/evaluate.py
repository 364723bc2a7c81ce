"""Cross-validate one pipeline and predict with it. Runs inside the lab, next to the script of the automl agent.

Reads `chooser.json` and `data/`. If nothing is submitted yet, it submits a constant first, so that there is a
submission even if the evaluation is killed.
"""

import json
import sys
from pathlib import Path
from typing import Any

import automl
import numpy as np
import pandas as pd
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.metrics import log_loss, mean_absolute_error, roc_auc_score, root_mean_squared_error
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

FOLDS = 3


def main() -> None:
    """Write the predictions and the validation loss of the pipeline, averaged over the columns to predict.

    With the name of another configuration, only submit the predictions of its pipeline.
    """
    final = len(sys.argv) > 1
    config = json.loads(Path(sys.argv[1] if final else "chooser.json").read_text())
    train, test = (automl.read_table(automl.DATA / config["data"][part]) for part in ("train", "test"))
    labels = automl.find_labels(config, train)
    if not Path(config["submission"]).exists():
        automl.submit_constant(config, test, labels)
    if config["pipeline"] is None:
        return
    inputs, unseen = automl.find_features(config, train, test)
    if final:
        automl.submit(config, test, labels, inputs, unseen, fit_pipeline)
        return
    losses = [validate(config, inputs, labels[name]) for name in labels]
    automl.submit(config | {"submission": config["predictions"]}, test, labels, inputs, unseen, fit_pipeline)
    Path(config["result"]).write_text(json.dumps({"loss": float(np.mean(losses))}))


def validate(config: dict, inputs: automl.Table, labels: pd.Series) -> float:
    """Return the mean loss over folds, which are the same for every pipeline of a trial."""
    known = np.flatnonzero(labels.notna())
    generator = np.random.default_rng(config["seed"])
    rows = generator.permutation(known)[: automl.MAX_CV_ROWS]
    inputs, labels = take(inputs, rows), labels.iloc[rows]
    if config["metric"] in automl.LOG_METRICS:
        labels = np.log1p(labels)
    regression = config["kind"].endswith("regression")
    if not regression and labels.nunique() < 2:
        return 0.0  # a constant is right, and is what is submitted
    stratified = not regression and labels.value_counts().min() >= FOLDS
    folds = (StratifiedKFold if stratified else KFold)(FOLDS, shuffle=True, random_state=config["seed"])
    losses = []
    for fitted, held_out in folds.split(np.zeros(len(rows)), labels):
        model = fit_pipeline(config, take(inputs, fitted), labels.iloc[fitted])
        losses.append(measure_loss(config, model, take(inputs, held_out), labels.iloc[held_out]))
    return float(np.mean(losses))


def take(inputs: automl.Table, rows: np.ndarray) -> automl.Table:
    """Return some rows of the inputs."""
    return inputs.iloc[rows] if isinstance(inputs, pd.DataFrame) else inputs[rows]


def measure_loss(config: dict, model: Any, inputs: automl.Table, labels: pd.Series) -> float:
    """Return the loss that comes closest to the metric of the task."""
    metric = automl.METRICS.get(config["metric"], "auto")
    if config["kind"].endswith("regression"):
        predicted = model.predict(inputs)
        return (mean_absolute_error if metric == "mae" else root_mean_squared_error)(labels, predicted)
    if metric == "accuracy":
        return float(np.mean(np.asarray(model.predict(inputs)) != labels.to_numpy()))
    shares, classes = model.predict_proba(inputs), model.classes
    if metric == "roc_auc" and len(classes) == 2 and labels.nunique() == 2:
        return 1 - roc_auc_score(labels, shares[:, 1])
    known = labels.isin(classes).to_numpy()
    return log_loss(labels[known], shares[known], labels=classes)


class Encoded:
    """A model whose inputs are numbers: categories by their codes, in plainly named columns."""

    def __init__(self, model: Any) -> None:
        self._model = model

    @property
    def classes(self) -> np.ndarray:
        return self._model.classes_

    def predict(self, inputs: automl.Table) -> np.ndarray:
        return self._model.predict(encode(inputs))

    def predict_proba(self, inputs: automl.Table) -> np.ndarray:
        return self._model.predict_proba(encode(inputs))


def encode(inputs: automl.Table) -> np.ndarray:
    """Return the inputs as numbers."""
    if isinstance(inputs, np.ndarray):
        return inputs
    columns = [column.cat.codes if column.dtype == "category" else column for _, column in inputs.items()]
    return np.column_stack([np.asarray(column, dtype=float) for column in columns])


def fit_pipeline(config: dict, inputs: automl.Table, labels: pd.Series) -> Encoded:
    """Fit the pipeline of the configuration with its parameters."""
    numbers = {name: parse(value) for name, value in config["parameters"].items()}
    model = make_model(config, numbers)
    return Encoded(model.fit(encode(inputs), labels))


def make_model(config: dict, parameters: dict[str, Any]) -> Any:
    """Return the estimator of the configuration; those that need it get complete and scaled inputs."""
    regression, pipeline = config["kind"].endswith("regression"), config["pipeline"]
    if pipeline == "kneighbor":
        return make_pipeline(SimpleImputer(), StandardScaler(), KNeighborsClassifier(**parameters))
    common = {"n_jobs": config["cores"], "random_state": config["seed"]} | parameters
    if pipeline == "lgbm":
        import lightgbm

        return (lightgbm.LGBMRegressor if regression else lightgbm.LGBMClassifier)(**common, verbose=-1)
    kinds = {
        "rf": (RandomForestClassifier, RandomForestRegressor),
        "extra_tree": (ExtraTreesClassifier, ExtraTreesRegressor),
    }
    return make_pipeline(SimpleImputer(), kinds[pipeline][regression](**common))


def parse(value: str) -> int | float | str:
    """Return a value as the number it is, if it is one."""
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            continue
    return value


if __name__ == "__main__":
    main()
