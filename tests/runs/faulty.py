"""Agents whose surroundings fail them, for a while or for good."""

from pathlib import Path

from assay.agents import Agent, Workbench
from assay.core.errors import LabError, NotPrepared

FAULTS = {"lab": LabError, "lasting": NotPrepared}


class Unlucky(Agent):
    """Works well, after its surroundings have failed it a number of times; `count` is a file that counts them."""

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
            raise FAULTS[self.fault](f"out of order for the {before + 1}. time")


class Spender(Agent):
    """Hands in what the starter does, and says that it cost three dollars."""

    async def work(self, bench: Workbench) -> None:
        """Act."""
        bench.clock.count(tokens=1000, cost=3.0, waited=0.0)
        await bench.run(["python", "train.py"])


class Talks(Agent):
    """Prints what could steer a terminal."""

    async def work(self, bench: Workbench) -> None:
        """Act."""
        await bench.run(["sh", "-c", r"printf '\033]0;owned\007\033[2J hello \r\n'"])
        await bench.run(["python", "train.py"])


class Unpriced(Agent):
    """Calls a model without a known price."""

    async def work(self, bench: Workbench) -> None:
        """Act."""
        bench.clock.count(tokens=500, cost=None, waited=0.0)
        await bench.run(["python", "train.py"])
