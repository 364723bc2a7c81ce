"""An agent that takes its time, so that there is something to interrupt."""

from assay.agents import Agent, Workbench


class Patient(Agent):
    """Writes a submission, then takes steps of a second each, and says that it cost something."""

    steps: int = 8
    cost: float = 0.0

    async def work(self, bench: Workbench) -> None:
        """Act."""
        bench.clock.count(tokens=0, cost=self.cost, waited=0.0)
        await bench.run(["python", "train.py"])
        for number in range(self.steps):
            await bench.run(["sh", "-c", f"sleep 1; echo {number} >> steps.txt"])
