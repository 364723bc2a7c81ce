"""The floor: runs the starter code as it is."""

from assay.agents.agent import Agent
from assay.agents.workbench import Workbench


class Starter(Agent):
    """Runs the task's starter code and hands in what it wrote."""

    summary = "runs the task's starter code and hands in what it wrote"

    async def work(self, bench: Workbench) -> None:
        """Run `train.py` where the task has one; else the starter's file is the submission already."""
        if "train.py" in bench.task.starter:
            await bench.run(["python", "train.py"])
