"""The floor that needs no model: a time-boxed search over ordinary pipelines."""

import json
from importlib.resources import files

from pydantic import Field

from assay.agents.agent import Agent
from assay.agents.workbench import Workbench
from assay.tasks import Task

KINDS = ("tabular-classification", "tabular-regression", "image-classification")
MARGIN = 12.0


class AutoML(Agent):
    """Searches for a good pipeline with FLAML, inside the lab, for a share of the time it is given."""

    summary = "searches over pipelines with FLAML for most of its time; needs no model and no key"

    share: float = Field(0.8, gt=0, le=1, description="part of the remaining time to search for")
    most: float = Field(600.0, gt=0, description="seconds to search for at the most")

    def inapplicable(self, task: Task) -> str | None:
        """It predicts one column of a table, from the table or from images that the table names, and nothing else."""
        if task.kind not in KINDS:
            return f"automl predicts tables and images; it cannot do {task.kind}"
        needed = {"train", "test", "target", *(["image"] if task.kind == "image-classification" else [])}
        tables = [name for name in (task.data.train, task.data.test) if name and not name.endswith(".csv")]
        lacking = sorted(name for name in needed if getattr(task.data, name) is None)
        if lacking or tables or len(task.submission.columns) != 1:
            return "automl needs a train.csv and a test.csv with one target column, and the paths of images in them"
        return None

    async def work(self, bench: Workbench) -> None:
        """Put the search script and its order into the workspace, and run it once."""
        task, left = bench.task, bench.clock.seconds_left
        order = {
            "kind": task.kind,
            "data": task.data.model_dump(),
            "target": next(iter(task.submission.columns)),
            "submission": task.submission.file,
            "id": task.submission.id,
            "metric": task.metric.name,
            "cores": task.resources.cores,
            "seed": bench.seed,
            "search_seconds": min(self.most, left * self.share, max(2.0, left - MARGIN)),
        }
        await bench.write("automl.json", json.dumps(order, indent=2))
        await bench.write("automl.py", files("assay.agents").joinpath("scripts", "automl.py").read_bytes())
        await bench.run(["python", "-W", "ignore", "automl.py"])
