"""Results in experiment trackers, through their own packages and without a network: W&B offline, a folder of MLflow.

Each agent under one set of rules is a run: its settings, its rates with their intervals, and a table of its trials.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from assay.core.errors import MissingDependency
from assay.core.table import to_plain
from assay.interop.exporters import Exporter
from assay.interop.importers import Results
from assay.results.estimate import summarize_agents, summarize_tasks
from assay.results.frame import Frame


def write_wandb(results: Results, folder: Path) -> list[Path]:
    """Write offline runs of Weights & Biases, which `wandb sync` uploads."""
    try:
        import wandb
    except ImportError:
        raise MissingDependency("Writing runs of W&B", "wandb") from None
    folder.mkdir(parents=True, exist_ok=True)
    for group in _groups(results):
        settings = wandb.Settings(silent=True, console="off", disable_git=True, save_code=False)
        run = wandb.init(
            project="assay", name=_name(group), mode="offline", dir=folder, config=_config(group), settings=settings,
            reinit="finish_previous",
        )  # fmt: skip
        records = to_plain(group.to_table().to_records())
        columns = list(records[0])
        rows = [[record[column] for column in columns] for record in records]
        run.log({"trials": wandb.Table(columns=columns, data=rows)})
        run.summary.update(_rates(group))
        run.finish()
    return sorted(folder.glob("wandb/offline-run-*/*.wandb"))


def write_mlflow(results: Results, folder: Path) -> list[Path]:
    """Write runs into a folder, which `mlflow ui --backend-store-uri` shows."""
    os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")  # a database needs more than the tracking client
    try:
        import mlflow
    except ImportError:
        raise MissingDependency("Writing runs of MLflow", "mlflow") from None
    folder.mkdir(parents=True, exist_ok=True)
    client = mlflow.MlflowClient(tracking_uri=folder.resolve().as_uri())
    known = client.get_experiment_by_name("assay")
    experiment = known.experiment_id if known else client.create_experiment("assay")
    for group in _groups(results):
        run = client.create_run(experiment, run_name=_name(group)).info.run_id
        for name, value in _config(group).items():
            client.log_param(run, name, value)
        for name, value in _rates(group).items():
            client.log_metric(run, name, value)
        client.log_dict(run, {"trials": to_plain(group.to_table().to_records())}, "trials.json")
        client.set_terminated(run)
    return sorted(folder.glob("*/*/artifacts/trials.json"))


def _groups(results: Results) -> Iterator[Frame]:
    yield from results.frame.counted.group_by(lambda row: (row.rules, row.agent))


def _name(group: Frame) -> str:
    return f"{group[0].agent} on {group[0].rules}"


def _config(group: Frame) -> dict[str, Any]:
    row = group[0]
    known = {"agent": row.agent, "model": row.model, "suite": row.suite, "edition": row.edition, "variant": row.variant}
    conditions = {name: row.conditions.get(name) for name in ("budget", "hardware", "network", "description")}
    return {name: value for name, value in {**known, **conditions, "harness": row.harness}.items() if value is not None}


def _rates(group: Frame) -> dict[str, float]:
    [summary] = summarize_agents(group, summarize_tasks(group))
    rates = {"trials": float(len(group)), "valid": sum(row.valid for row in group) / len(group)}
    if summary.means:
        claim = summary.means.like
        rates |= {"success": claim.value, "success_low": claim.interval.low, "success_high": claim.interval.high}
    return rates


WANDB = Exporter("wandb", write_wandb)
MLFLOW = Exporter("mlflow", write_mlflow)
