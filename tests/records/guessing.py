"""An agent whose submission depends on its seed."""

from assay.agents import Agent, Workbench


class Guesses(Agent):
    """Runs the starter, and then calls every coin by the parity of its seed."""

    async def work(self, bench: Workbench) -> None:
        """Act."""
        await bench.run(["python", "train.py"])
        await bench.run(["sh", "-c", f"sed '2,$s/,.*/,{bench.seed % 2}/' submission.csv > new; mv new submission.csv"])
