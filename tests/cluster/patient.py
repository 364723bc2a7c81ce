"""An agent that can be interrupted half-way, however fast the machine is."""

import asyncio
from pathlib import Path

from assay.agents import Agent, Workbench

HALF = 4
"""The number of steps after which it waits."""


class Patient(Agent):
    """Writes a submission, takes steps and reports a cost; half-way it waits until a gate file exists."""

    steps: int = 8
    cost: float = 0.0
    gate: str = ""

    async def work(self, bench: Workbench) -> None:
        """Act."""
        bench.clock.count(tokens=0, cost=self.cost, waited=0.0)
        await bench.run(["python", "train.py"])
        for number in range(1, self.steps):
            if number == HALF:
                await self._wait()
            await bench.run(["sh", "-c", f"echo {number} >> steps.txt"])

    async def _wait(self) -> None:
        while self.gate and not Path(self.gate).exists():
            await asyncio.sleep(0.05)
