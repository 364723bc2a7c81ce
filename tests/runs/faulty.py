"""Agents whose infrastructure fails, temporarily or permanently."""

from pathlib import Path

from assay.agents import Agent, Workbench
from assay.core.errors import LabError, NotPrepared

FAULTS = {"lab": LabError, "lasting": NotPrepared}


class Unlucky(Agent):
    """Works after a number of infrastructure failures; `count` is a file that counts them."""

    count: str
    times: int = 1
    fault: str = "lab"

    async def work(self, bench: Workbench) -> None:
        """Act."""
        await bench.run(["python", "train.py"])
        path = Path(f"{self.count}-{bench.seed}")
        before = int(path.read_text()) if path.exists() else 0
        if before < self.times:
            path.write_text(str(before + 1))
            raise FAULTS[self.fault](f"failure number {before + 1}")


class Spender(Agent):
    """Submits what the starter does, and reports a cost of three dollars."""

    async def work(self, bench: Workbench) -> None:
        """Act."""
        bench.clock.count(tokens=1000, cost=3.0, waited=0.0)
        await bench.run(["python", "train.py"])


class Talks(Agent):
    """Prints terminal control characters."""

    async def work(self, bench: Workbench) -> None:
        """Act."""
        await bench.run(["sh", "-c", r"printf '\033]0;owned\007\033[2J hello \r\n'"])
        await bench.run(["python", "train.py"])


class Unpriced(Agent):
    """Uses a model of unknown price."""

    async def work(self, bench: Workbench) -> None:
        """Act."""
        bench.clock.count(tokens=500, cost=None, waited=0.0)
        await bench.run(["python", "train.py"])
