"""Train random pipelines and write the predictions and the validation loss of each. Runs inside the lab.

Reads `sampler.json` and `data/`. Features, labels and losses are those of the scripts next to it. With the name of a
file, it trains the one pipeline in it again, on the rows that it had, and submits it.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

import automl
import evaluate
import numpy as np
import pandas as pd

KINDS = ("lgbm", "extra_tree", "rf", "kneighbor")
DECIMALS = 4


def main() -> None:
    """Train one pipeline after another until there are enough, or the time is over."""
    started = time.monotonic()
    kept = sys.argv[1:]
    config = json.loads(Path(kept[0] if kept else "sampler.json").read_text())
    train, test = (automl.read_table(automl.DATA / config["data"][part]) for part in ("train", "test"))
    labels = automl.find_labels(config, train)
    inputs, unseen = automl.find_features(config, train, test)
    automl.submit_constant(config, test, labels)
    random = np.random.default_rng([config["seed"], KINDS.index("rf"), config["rows"]])
    fixed, tables = split(config, len(labels), random), (test, labels, inputs, unseen)
    if kept:
        rows = fixed
        for _ in range(config["number"] + 1 if config["search"] == "noisy" else 0):
            draw(config, random)
            rows = split(config, len(labels), random)
        train_pipeline(config, config["pipeline"], rows, tables, config["submission"])
        return
    results = Path(config["results"])
    results.parent.mkdir(exist_ok=True)
    best: dict[str, Any] | None = None
    with results.open("w") as log:
        for number in range(config["candidates"]):
            if time.monotonic() - started > config["seconds"]:
                break
            changed = config["search"] == "greedy" and best is not None and number >= 4
            pipeline = change(best["pipeline"], config, random) if changed else draw(config, random)
            rows = split(config, len(labels), random) if config["search"] == "noisy" else fixed
            file = f"candidates/{number}.csv"
            loss = train_pipeline(config, pipeline, rows, tables, file)
            record = {"pipeline": pipeline, "loss": loss, "file": file, "parent": best["number"] if changed else None}
            print(json.dumps(record), file=log, flush=True)
            if best is None or loss < best["loss"]:
                best = record | {"number": number}


def split(config: dict, count: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows to fit to and the few rows to validate on."""
    order = random.permutation(count)
    held_out = min(config["rows"], count // 2)
    return order[held_out : held_out + config["max_rows"]], order[:held_out]


def draw(config: dict, random: np.random.Generator) -> dict[str, Any]:
    """Return a random pipeline: a model, its parameters, and the share of the columns that it sees."""
    kinds = [kind for kind in KINDS if not (kind == "kneighbor" and config["kind"].endswith("regression"))]
    kind = kinds[random.integers(len(kinds))]
    return {"kind": kind, "columns": round(random.uniform(0.2, 1), DECIMALS), "parameters": parameters(kind, random)}


def parameters(kind: str, random: np.random.Generator) -> dict[str, float]:
    """Return random parameters of a model, from useless to good ones."""
    if kind == "kneighbor":
        return {"n_neighbors": int(2 ** random.uniform(0, 6))}
    if kind == "lgbm":
        return {
            "n_estimators": int(2 ** random.uniform(1, 6.5)),
            "learning_rate": round(float(10 ** random.uniform(-2, -0.1)), DECIMALS),
            "num_leaves": int(2 ** random.uniform(1, 5.5)),
            "min_child_samples": int(2 ** random.uniform(0, 6)),
        }
    return {
        "n_estimators": int(2 ** random.uniform(1, 5.5)),
        "min_samples_leaf": int(2 ** random.uniform(0, 5)),
        "max_features": round(random.uniform(0.05, 0.9), DECIMALS),
        "max_depth": int(2 ** random.uniform(1, 4.5)),
    }


def change(pipeline: dict[str, Any], config: dict, random: np.random.Generator) -> dict[str, Any]:
    """Return a pipeline with one parameter, or the share of columns, drawn again."""
    drawn = {**draw(config, random), "kind": pipeline["kind"]}
    drawn["parameters"] = parameters(pipeline["kind"], random)
    name = [*pipeline["parameters"], "columns"][random.integers(len(pipeline["parameters"]) + 1)]
    if name == "columns":
        return {**pipeline, "columns": drawn["columns"]}
    return {**pipeline, "parameters": {**pipeline["parameters"], name: drawn["parameters"][name]}}


def train_pipeline(
    config: dict, pipeline: dict[str, Any], rows: tuple[np.ndarray, np.ndarray], tables: tuple[Any, ...], file: str
) -> float:
    """Write the predictions of a pipeline for the test rows, and return its mean loss on the validation rows."""
    test, labels, inputs, unseen = tables
    fitted, held_out = rows
    count = inputs.shape[1]
    seed = [config["seed"], int(pipeline["columns"] * 10**DECIMALS)]
    columns = np.random.default_rng(seed).permutation(count)[: max(1, round(count * pipeline["columns"]))]
    inputs, unseen = (choose(table, columns) for table in (inputs, unseen))
    models: list[evaluate.Encoded] = []

    def fit(settings: dict, known: automl.Table, targets: pd.Series) -> evaluate.Encoded:
        chosen = {"pipeline": pipeline["kind"], "seed": config["seed"]}
        model = evaluate.make_model(settings | chosen, fit_to(pipeline["parameters"], len(known)))
        models.append(evaluate.Encoded(model.fit(evaluate.encode(known), targets)))
        return models[-1]

    chosen = config | {"submission": file}
    automl.submit(chosen, test, labels.iloc[fitted], evaluate.take(inputs, fitted), unseen, fit)
    held = evaluate.take(inputs, held_out)
    losses = []
    for name, model in zip(labels, models, strict=False):
        targets = labels[name].iloc[held_out]
        known = targets.notna().to_numpy()
        targets = np.log1p(targets[known]) if config["metric"] in automl.LOG_METRICS else targets[known]
        losses.append(evaluate.measure_loss(config, model, evaluate.take(held, np.flatnonzero(known)), targets))
    return float(np.mean(losses)) if losses else 0.0


def fit_to(parameters: dict[str, float], rows: int) -> dict[str, float]:
    """Return parameters that are possible with this many rows."""
    neighbors = parameters.get("n_neighbors")
    return parameters if neighbors is None else {"n_neighbors": min(neighbors, rows)}


def choose(table: automl.Table, columns: np.ndarray) -> automl.Table:
    """Return some columns of the inputs."""
    return table.iloc[:, columns] if isinstance(table, pd.DataFrame) else table[:, columns]


if __name__ == "__main__":
    main()
