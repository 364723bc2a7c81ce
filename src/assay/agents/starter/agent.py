"""The baseline agent: runs the starter code unchanged, or predicts the same for every row."""

import hashlib
import json
from importlib.resources import files
from typing import ClassVar

from assay.agents.agent import Agent
from assay.agents.workbench import Workbench
from assay.records.code import Solution
from assay.records.events import AnyRequest, CommandRequest, WriteRequest
from assay.tasks import Task

METHODS = {"mae": "median", "pearson": "draw", "mean_column_spearman": "draw"}
"""How to predict a number under metrics for which its mean is not the best constant, or a constant has no score."""
EXAMPLES = {"span": "NO"}
"""Codec -> a valid cell for a first submission, where the sample submission is all empty."""
CONSTANT = ("python", "-W", "ignore", "starter.py")


class Starter(Agent):
    """Runs the task's starter code unchanged; a task without any gets a constant prediction."""

    scripts: ClassVar[tuple[str, ...]] = ("assay.agents.starter:constant.py",)

    calls: ClassVar[tuple[str, ...]] = ("command", "write")
    summary = "runs the task's starter code unchanged, or predicts a constant where there is none"

    def inapplicable(self, task: Task) -> str | None:
        """Refuse tasks that have neither starter code nor a sample submission to start from."""
        if task.starter or (task.submission.form == "csv" and task.data.public_sample):
            return None
        return "the task has neither starter code nor a sample submission that agents can see"

    def makes(self, request: AnyRequest, task: Task) -> bool:
        """Return whether it may make this call: it writes one script, and runs that or the starter's."""
        script = task.starter_script
        if isinstance(request, CommandRequest):
            return request.command == (("python", script) if script else CONSTANT)
        written = hashlib.sha256(_read_script()).hexdigest()
        return isinstance(request, WriteRequest) and (
            request.path == "starter.json" or (request.path, request.digest) == ("starter.py", written)
        )

    def find_solution(self, task: Task) -> Solution:
        """Return the script that it runs."""
        if script := task.starter_script:
            return Solution(("python", script), (script,))
        return Solution(CONSTANT, ("starter.py", "starter.json"))

    async def work(self, bench: Workbench) -> None:
        """Run the starter's script if it has one; a starter without one is already the submission."""
        task = bench.task
        if script := task.starter_script:
            await bench.run(["python", script])
        elif not task.starter:
            await bench.write("starter.json", json.dumps(_configure(task), indent=2))
            await bench.write("starter.py", _read_script())
            await bench.run(CONSTANT)


def _read_script() -> bytes:
    return files("assay.agents.starter").joinpath("constant.py").read_bytes()


def _configure(task: Task) -> dict[str, object]:
    """Return what the script needs to know about the task."""
    submission = task.submission
    free_text = not task.kind.endswith(("classification", "regression"))
    columns = {
        name: {"number": column.type == "number", "min": column.min, "max": column.max}
        for name, column in submission.columns.items()
        if column.scored and not (column.type == "text" and (free_text or column.only_text))
    }
    return {
        "sample": task.data.public_sample,
        "submission": submission.file,
        "train": task.data.train,
        "target": task.data.target,
        "columns": columns,
        "examples": {
            name: EXAMPLES[column.codec.name]
            for name, column in submission.columns.items()
            if column.codec and column.codec.name in EXAMPLES
        },
        "method": METHODS.get(task.metric.name, "mean"),
        "row_sum": submission.row_sum.to if submission.row_sum else None,
    }
