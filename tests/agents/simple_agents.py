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


class PicksBadly(Agent):
    """Makes a good candidate, offers it, and then leaves a bad one as its submission."""

    offers: int = 1

    async def work(self, bench: Workbench) -> None:
        """Act."""
        rows = 'awk -F, \'NR == 1 {print "coin,side"} NR > 1 {print $1 "," (%s)}\' data/test.csv > submission.csv'
        await bench.run(["sh", "-c", rows % "$1 % 3 == 0"])
        for _ in range(self.offers):
            await bench.offer()
        await bench.run(["sh", "-c", rows % "$1 % 3 != 0"])


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


class Solves(Agent):
    """Runs one of the solutions in the task's folder, in every round; notes what it was asked for."""

    solution: str = "honest"

    async def work(self, bench: Workbench) -> None:
        """Act."""
        script = bench.task.folder / "solutions" / f"{self.solution}.py"
        await bench.write("solution.py", script.read_bytes())
        await bench.write(f"asked-{bench.round}.md", bench.description)
        await bench.run(["python", "solution.py"])


GUESSES = """\
import os, pathlib, sys
def write(rule):
    coins = pathlib.Path("data/test.csv").read_text().split()[1:]
    rows = [f"{coin},{int(rule(int(coin)))}\\n" for coin in coins]
    pathlib.Path("submission.csv").write_text("coin,side\\n" + "".join(rows))
right = lambda coin: coin % 3 == 0
wrong = lambda coin: coin % 3 != 0
"""
CODES = {
    "honest": "write(right)",
    "typed": "pathlib.Path('submission.csv').write_text('coin,side\\n' + ''.join(f'{c},{int(c % 3 == 0)}\\n' "
    "for c in range(30, 60)))",
    "lookup": "table = {coin: coin % 3 == 0 for coin in range(30, 60)}\nwrite(lambda coin: table[coin])",
    "needs file": "pathlib.Path('weights.txt').read_text()\nwrite(right)",
    "better with file": "write(right if pathlib.Path('weights.txt').exists() else wrong)",
    "lucky seed": "write(right if os.environ['SEED'] == '1' else wrong)",
    "fails": "sys.exit('no idea')",
}
"""Name of an agent's code -> what it does."""


class SubmitsCode(Agent):
    """Leaves code, files besides it, and what the code makes."""

    code: str = "honest"
    binary: bool = False

    async def work(self, bench: Workbench) -> None:
        """Act."""
        if self.code in CODES:
            await bench.write("solution.py", GUESSES + CODES[self.code])
        if self.binary:
            await bench.write("solution/weights.npy", bytes(range(256)))
        await bench.write("weights.txt", "1")
        await bench.run(["sh", "-c", "test ! -f solution.py || python solution.py || echo $?"])


class OffersCode(Agent):
    """Offers good code, code that needs a file of this lab, and then leaves bad code."""

    async def work(self, bench: Workbench) -> None:
        """Act."""
        await bench.write("weights.txt", "1")
        for name in ("honest", "needs file"):
            await bench.write("solution.py", GUESSES + CODES[name])
            result = await bench.offer()
            await bench.note("answer", text=result.reply)
        await bench.write("solution.py", GUESSES + "write(wrong)")
        await bench.run(["python", "solution.py"])


CLAIMS = {
    "too high": '{"score": 0.95, "low": 0.9, "high": 1.0, "target_reached": true, "did": "guessed"}',
    "empty": "{}",
    "infinite": '{"score": 1e999}',
    "deep": "[" * 10_000,
}
"""Name of a claim -> the content of its file."""


class Claims(Agent):
    """Claims a score for its guesses, through the workbench or by a file, as outside agents do."""

    claim: str = "workbench"

    async def work(self, bench: Workbench) -> None:
        """Act."""
        await bench.run(["python", "train.py"])
        if self.claim == "workbench":
            await bench.claim(0.7, 0.6, 0.8, success=False, did="always tails")
        else:
            await bench.run(["sh", "-c", "printf '%s' \"$1\" > claim.json", "sh", CLAIMS[self.claim]])
