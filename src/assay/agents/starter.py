"""The baseline agent: runs the starter code unchanged."""

from assay.agents.agent import Agent
from assay.agents.workbench import Workbench

__all__ = ["Starter"]


class Starter(Agent):
    """Runs the task's starter code unchanged and submits its output."""

    summary = "runs the task's starter code unchanged and submits its output"

    async def work(self, bench: Workbench) -> None:
        """Run `train.py` if the task has one; otherwise the starter file is already the submission."""
        if "train.py" in bench.task.starter:
            await bench.run(["python", "train.py"])
