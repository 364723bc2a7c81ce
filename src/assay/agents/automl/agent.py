"""The AutoML agent: searches for a pipeline with FLAML inside the lab."""

import hashlib
import json
from importlib.resources import files
from typing import Any, ClassVar

from pydantic import Field

from assay.agents.agent import Agent
from assay.agents.workbench import Workbench
from assay.records.code import Solution
from assay.records.events import AnyRequest, CommandRequest, WriteRequest
from assay.tasks import Task

TABLES = (".csv", ".csv.zip", ".tsv", ".tsv.zip", ".json")
KINDS = (
    "tabular-classification",
    "tabular-regression",
    "text-classification",
    "text-regression",
    "image-classification",
    "time-series-classification",
)
SEARCH = ("python", "-W", "ignore", "automl.py")
MARGIN = 12.0
"""Seconds of the budget left for loading data and writing the submission."""


class AutoML(Agent):
    """Searches for a good pipeline with FLAML, inside the lab, for a share of the remaining time."""

    scripts: ClassVar[tuple[str, ...]] = ("assay.agents.automl:search.py",)

    calls: ClassVar[tuple[str, ...]] = ("command", "write")
    summary = "searches over pipelines with FLAML; needs no model and no API key"

    share: float = Field(0.8, gt=0, le=1, description="share of the remaining time to search for")
    max_seconds: float = Field(600.0, gt=0, description="max search time in seconds")
    evaluations: int | None = Field(
        None, gt=0, description="search over this many pipelines instead of for a time: the same result on any machine"
    )

    def inapplicable(self, task: Task) -> str | None:
        """Refuse tasks other than predicting columns of a table, from the table or from images named in it."""
        return find_obstacle("automl", task)

    def makes(self, request: AnyRequest, task: Task) -> bool:
        """Return whether it may make this call: it writes and runs one script."""
        if isinstance(request, CommandRequest):
            return request.command == SEARCH
        written = hashlib.sha256(read_script()).hexdigest()
        return isinstance(request, WriteRequest) and (
            request.path == "automl.json" or (request.path, request.digest) == ("automl.py", written)
        )

    def find_solution(self, task: Task) -> Solution:
        """Return the search, which is repeated with the seed and for the time that it had."""
        return Solution(SEARCH, ("automl.py", "automl.json"))

    async def work(self, bench: Workbench) -> None:
        """Write the search script and its configuration into the workspace, and run it once."""
        left = bench.clock.seconds_left
        config = describe_task(bench.task) | {
            "seed": bench.seed,
            "search_seconds": min(self.max_seconds, left * self.share, max(2.0, left - MARGIN)),
            "evaluations": self.evaluations,
        }
        await bench.write("automl.json", json.dumps(config, indent=2))
        await bench.write("automl.py", read_script())
        await bench.run(SEARCH)


def find_obstacle(agent: str, task: Task) -> str | None:
    """Return why the pipelines of this module cannot be used on a task, or None if they can."""
    if task.kind not in KINDS:
        return f"{agent} supports tables and images, not {task.kind}"
    if any(column.type == "text" for column in task.submission.columns.values()):
        return f"{agent} predicts numbers and classes, not text"
    data = task.data
    tables = [data.train, data.test] + ([data.image] if task.kind == "image-classification" else [])
    if None in tables or not all(name and name.endswith(TABLES) for name in (data.train, data.test)):
        return f"{agent} needs a table for training and one for testing, and the paths of images in them"
    return None


def describe_task(task: Task) -> dict[str, Any]:
    """Return what the script needs to know about a task."""
    columns = task.submission.columns
    return {
        "kind": task.kind,
        "data": task.data.model_dump(include={"train", "test", "target", "image"}),
        "columns": [name for name, column in columns.items() if column.scored],
        "probabilities": all(column.type == "number" for column in columns.values()),
        "row_sum": task.submission.row_sum.to if task.submission.row_sum else None,
        "submission": task.submission.file,
        "id": task.submission.id,
        "metric": task.metric.name,
        "cores": task.resources.cores,
    }


def read_script() -> bytes:
    """Return the script that runs in the lab."""
    return files("assay.agents.automl").joinpath("search.py").read_bytes()
