"""An agent that takes its time, so that there is something to interrupt."""

from assay.agents import Agent, Workbench


class Patient(Agent):
    """Writes a submission, then takes steps of a second each."""

    steps: int = 8

    async def work(self, bench: Workbench) -> None:
        """Act."""
        await bench.run(["python", "train.py"])
        for number in range(self.steps):
            await bench.run(["sh", "-c", f"sleep 1; echo {number} >> steps.txt"])
