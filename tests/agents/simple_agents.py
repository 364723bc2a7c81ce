"""Agents that do one thing, for tests."""

from assay.agents import Agent, Workbench
from assay.tasks import Task


class Steps(Agent):
    """Writes a submission, then takes a number of further steps."""

    steps: int = 3

    async def work(self, bench: Workbench) -> None:
        """Act."""
        await bench.run(["python", "train.py"])
        for number in range(self.steps):
            await bench.run(["sh", "-c", f"echo {number} >> steps.txt; echo $SEED > seed.txt"])


class Sleeps(Agent):
    """Writes a submission, then sleeps for longer than any budget."""

    async def work(self, bench: Workbench) -> None:
        """Act."""
        await bench.run(["python", "train.py"])
        await bench.run(["sleep", "1000"])


class Crashes(Agent):
    """Has a fault in its own code."""

    async def work(self, bench: Workbench) -> None:
        """Act."""
        await bench.run(["true"])
        raise RuntimeError("I forgot what I was doing")


class Idles(Agent):
    """Submits nothing."""

    async def work(self, bench: Workbench) -> None:
        """Do nothing."""


class Links(Agent):
    """Submits a link to a file of the host."""

    async def work(self, bench: Workbench) -> None:
        """Act."""
        await bench.run(["ln", "-s", "/etc/passwd", "submission.csv"])


class Greedy(Agent):
    """Never stops taking steps."""

    async def work(self, bench: Workbench) -> None:
        """Act."""
        await bench.run(["python", "train.py"])
        while True:
            await bench.run(["true"])


class KillsItself(Agent):
    """Kills its own process, as a bug in a library could."""

    async def work(self, bench: Workbench) -> None:
        """Act."""
        import os
        import signal

        os.kill(os.getpid(), signal.SIGKILL)


class Inapplicable(Agent):
    """Can work on no task."""

    def inapplicable(self, task: Task) -> str | None:
        """Refuse."""
        return "it works on no task"

    async def work(self, bench: Workbench) -> None:
        """Do nothing."""
