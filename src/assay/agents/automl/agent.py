"""The AutoML agent: searches for a pipeline with FLAML inside the lab."""

import json
from importlib.resources import files

from pydantic import Field

from assay.agents.agent import Agent
from assay.agents.workbench import Workbench
from assay.tasks import Task

KINDS = ("tabular-classification", "tabular-regression", "image-classification")
MARGIN = 12.0
"""Seconds of the budget left for loading data and writing the submission."""


class AutoML(Agent):
    """Searches for a good pipeline with FLAML, inside the lab, for a share of the remaining time."""

    summary = "searches over pipelines with FLAML; needs no model and no API key"

    share: float = Field(0.8, gt=0, le=1, description="share of the remaining time to search for")
    max_seconds: float = Field(600.0, gt=0, description="max search time in seconds")

    def inapplicable(self, task: Task) -> str | None:
        """Refuse tasks other than predicting one column of a table, from the table or from images named in it."""
        if task.kind not in KINDS:
            return f"automl supports tables and images, not {task.kind}"
        needed = {"train", "test", "target"}
        if task.kind == "image-classification":
            needed.add("image")
        missing = any(getattr(task.data, name) is None for name in needed)
        not_csv = any(name and not name.endswith(".csv") for name in (task.data.train, task.data.test))
        if missing or not_csv or len(task.submission.columns) != 1:
            return "automl needs a train.csv and a test.csv with one target column, and the paths of images in them"
        return None

    async def work(self, bench: Workbench) -> None:
        """Write the search script and its configuration into the workspace, and run it once."""
        task, left = bench.task, bench.clock.seconds_left
        config = {
            "kind": task.kind,
            "data": task.data.model_dump(),
            "target": next(iter(task.submission.columns)),
            "submission": task.submission.file,
            "id": task.submission.id,
            "metric": task.metric.name,
            "cores": task.resources.cores,
            "seed": bench.seed,
            "search_seconds": min(self.max_seconds, left * self.share, max(2.0, left - MARGIN)),
        }
        await bench.write("automl.json", json.dumps(config, indent=2))
        await bench.write("automl.py", files("assay.agents.automl").joinpath("search.py").read_bytes())
        await bench.run(["python", "-W", "ignore", "automl.py"])
