"""The search script of automl submits early, so that a killed search is no failure."""

import json
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from assay.agents.automl import agent
from assay.core.home import Home
from assay.lab.environments import find_environment

KILLED = "import os\nclass AutoML:\n    def fit(self, *args, **options):\n        os._exit(137)\n"


@pytest.mark.parametrize(("kind", "metric"), [("tabular-classification", "accuracy"), ("tabular-regression", "rmsle")])
def test_a_search_that_is_killed_leaves_the_submission_of_a_default_model(kind, metric, tmp_path: Path):
    rows = pd.DataFrame({"row": range(80), "size": [n % 8 for n in range(80)]})
    rows["label"] = rows["size"] // 4 if kind == "tabular-classification" else rows["size"] * 10.0
    (tmp_path / "data").mkdir()
    rows[:60].to_csv(tmp_path / "data/train.csv", index=False)
    rows[60:].drop(columns="label").to_csv(tmp_path / "data/test.csv", index=False)
    config = {
        "kind": kind,
        "data": {"train": "train.csv", "test": "test.csv", "target": "label", "image": None},
        "columns": ["label"],
        "probabilities": False,
        "row_sum": None,
        "submission": "submission.csv",
        "id": "row",
        "metric": metric,
        "cores": 1,
        "seed": 1,
        "search_seconds": 600,
    }
    (tmp_path / "automl.json").write_text(json.dumps(config))
    (tmp_path / "automl.py").write_bytes(Path(agent.__file__).with_name("search.py").read_bytes())
    (tmp_path / "flaml.py").write_text(KILLED)
    python = find_environment(Home.default(), "core") / "bin/python"
    ended = subprocess.run([python, "-u", "-W", "ignore", "automl.py"], cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == 137, ended.stderr
    assert ended.stdout.splitlines() == ["submitted a constant", "submitted a default model"]
    submitted = pd.read_csv(tmp_path / "submission.csv")
    assert list(submitted["row"]) == list(range(60, 80))
    assert (submitted["label"] - rows["label"][60:].to_numpy()).abs().mean() < rows["label"].std() / 2
