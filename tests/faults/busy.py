"""Agents that do a little work, for faults to strike in the middle of."""

import os
import signal
from pathlib import Path

from assay.agents import Agent, Workbench
from assay.models import Message


class Counts(Agent):
    """Hands in what the starter does, then counts: a step that was lost, or done twice, would show in its file."""

    steps: int = 4

    async def work(self, bench: Workbench) -> None:
        """Act."""
        await bench.run(["python", "train.py"])
        for number in range(self.steps):
            await bench.run(["sh", "-c", f"echo {number} >> counted.txt"])


class Hoards(Agent):
    """Fills its workspace with what cannot be compressed."""

    megabytes: int = 8

    async def work(self, bench: Workbench) -> None:
        """Act."""
        await bench.run(["python", "train.py"])
        await bench.run(["sh", "-c", f"head -c {self.megabytes}M /dev/urandom > hoard && sync hoard"])


class Asks(Agent):
    """Calls a model before every step, and writes each reply to a file."""

    asks_models = True
    questions: int = 3

    async def work(self, bench: Workbench) -> None:
        """Act."""
        await bench.run(["python", "train.py"])
        for number in range(self.questions):
            reply = await bench.ask("main", [Message(role="user", text=f"What comes as number {number}?")])
            await bench.run(["sh", "-c", f"echo '{reply.message.text}' >> replies.txt"])


class Lingers(Agent):
    """Runs a command that does not want to end, with a time limit, and then counts to two."""

    command: str
    seconds: float = 2.0

    async def work(self, bench: Workbench) -> None:
        """Act."""
        await bench.run(["python", "train.py"])
        ended = await bench.run(["sh", "-c", self.command], seconds=self.seconds)
        await bench.run(["sh", "-c", f"echo {ended.ended} > ended.txt"])


class StopsOnce(Agent):
    """Has its own process held still, the first time: `marker` is where it remembers that."""

    marker: str

    async def work(self, bench: Workbench) -> None:
        """Act."""
        await bench.run(["python", "train.py"])
        if not Path(self.marker).exists():
            Path(self.marker).touch()
            os.kill(os.getpid(), signal.SIGSTOP)
        await bench.run(["sh", "-c", "echo went on > after.txt"])
