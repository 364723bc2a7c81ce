"""Agents whose results follow from what a study varies, so that its figures can be worked by hand."""

from pathlib import Path

from assay.agents import Agent, Workbench
from assay.agents.automl.agent import read_script

SCRIPT = """
import sys
right = int(sys.argv[1])
rows = [f"{coin},{int(coin % 3 == 0) ^ (place >= right)}" for place, coin in enumerate(range(30, 60))]
open("submission.csv", "w").write("coin,side\\n" + "\\n".join(rows) + "\\n")
"""


async def submit(bench: Workbench, right: int) -> None:
    """Write a submission in which `right` of 30 coins are right."""
    await bench.run(["python", "-c", SCRIPT, str(right)])


class Climber(Agent):
    """Submits after every step, and ends with something worse than it had."""

    right: str = "15/30/18"

    async def work(self, bench: Workbench) -> None:
        """Take the steps."""
        for number in self.right.split("/"):
            await submit(bench, int(number))


class Reader(Agent):
    """Knows the answers where the description names the competition."""

    async def work(self, bench: Workbench) -> None:
        """Read."""
        await submit(bench, 30 if "Great Coin Cup" in bench.description else 15)


class Rememberer(Agent):
    """Knows the answers of tasks that closed early."""

    async def work(self, bench: Workbench) -> None:
        """Remember."""
        await submit(bench, 30 if bench.task.name.startswith("early") else 15)


class Gambler(Agent):
    """Succeeds with the first seed, on tasks about texts never."""

    async def work(self, bench: Workbench) -> None:
        """Gamble."""
        await submit(bench, 30 if bench.seed == 1 and bench.task.kind.startswith("tabular") else 15)


class Demanding(Agent):
    """Succeeds with two cores, or with two gigabytes of memory."""

    needs: str = "cores"

    async def work(self, bench: Workbench) -> None:
        """Look at what there is."""
        enough = {"cores": 2, "memory": 2 * 10**9}[self.needs]
        await submit(bench, 30 if getattr(bench.task.resources, self.needs) >= enough else 15)


class Author(Agent):
    """Has the starter, a script that Assay ships, and one of its own, which differs between seeds."""

    own: str

    async def work(self, bench: Workbench) -> None:
        """Write the scripts."""
        await bench.write("automl.py", read_script())
        await bench.write("own.py", Path(self.own.split("+")[bench.seed - 1]).read_bytes())
        await bench.run(["true"])
