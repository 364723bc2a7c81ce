"""Agents that do a little work, during which tests inject faults."""

import os
import signal
from pathlib import Path

import anyio

from assay.agents import Agent, Workbench
from assay.models import Message


class Counts(Agent):
    """Submits what the starter does, then counts: a step that is lost or repeated shows in its file."""

    steps: int = 4

    async def work(self, bench: Workbench) -> None:
        """Act."""
        await bench.run(["python", "train.py"])
        for number in range(self.steps):
            await bench.run(["sh", "-c", f"echo {number} >> counted.txt"])


class FillsDisk(Agent):
    """Fills its workspace with incompressible data."""

    megabytes: int = 8

    async def work(self, bench: Workbench) -> None:
        """Act."""
        await bench.run(["python", "train.py"])
        await bench.run(["sh", "-c", f"head -c {self.megabytes}M /dev/urandom > ballast && sync ballast"])


class Asks(Agent):
    """Calls a model before every step, and writes its replies to a file."""

    asks_models = True
    questions: int = 3

    async def work(self, bench: Workbench) -> None:
        """Act."""
        await bench.run(["python", "train.py"])
        for number in range(self.questions):
            reply = await bench.ask("main", [Message(role="user", text=f"What comes as number {number}?")])
            await bench.run(["sh", "-c", f"echo '{reply.message.text}' >> replies.txt"])


class RunsTooLong(Agent):
    """Runs a command that exceeds its time limit, and then writes how it ended."""

    command: str
    seconds: float = 2.0

    async def work(self, bench: Workbench) -> None:
        """Act."""
        await bench.run(["python", "train.py"])
        ended = await bench.run(["sh", "-c", self.command], seconds=self.seconds)
        await bench.run(["sh", "-c", f"echo {ended.ended} > ended.txt"])


class StopsOnce(Agent):
    """Sends its own process a signal in the first attempt; `marker` is a file that exists afterwards."""

    marker: str
    number: int = signal.SIGSTOP

    async def work(self, bench: Workbench) -> None:
        """Act."""
        await bench.run(["python", "train.py"])
        if not Path(self.marker).exists():
            Path(self.marker).touch()
            os.kill(os.getpid(), self.number)
            await anyio.sleep(0)
        await bench.run(["sh", "-c", "echo continued > after.txt"])


class Writes(Agent):
    """Submits a guess without running anything: a trial that is as small as can be."""

    async def work(self, bench: Workbench) -> None:
        """Act."""
        guesses = "".join(f"{coin},{coin % 2}\n" for coin in range(30, 60))
        await bench.write(bench.task.submission.file, f"coin,side\n{guesses}".encode())
