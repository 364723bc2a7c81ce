"""Overhead of a step relative to the command it runs: `python benchmarks/steps.py [--pairs 30]`.

A step runs a command through the workbench with everything that belongs to it: writing the remaining budget, setting
limits, collecting output, making the log durable, taking a snapshot of the workspace. The baseline is the same command
in the same sandbox, started by bare bubblewrap: the same arguments, no control group, no record. Both alternate, with
1 GB of data in the lab. Goal: a step takes less than 1.25 times as long.

Then the cost of a snapshot of a workspace in which nothing has changed, and in which one file has. Goal: less than 50
milliseconds for 10,000 files if none has.
"""

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from figures import report
from toy import make_suite

from assay.agents import Workbench
from assay.agents.recorder import Recorder
from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.data import prepare
from assay.lab import Lab, Setup, open_lab
from assay.lab.environments import find_environment
from assay.lab.host import slots
from assay.lab.sandboxes.bubblewrap import Bubblewrap
from assay.records import Clock, EventLog
from assay.tasks import Budget, Task

GOAL = 1.25
SNAPSHOT_GOAL = 50  # milliseconds, for the most files
COMMANDS = {"true": ["true"], "python, numpy imported": ["python", "-c", "import numpy"]}
FILES = (10, 1_000, 10_000)
PREPARE = """
import os

def prepare(job):
    for number in range(int(os.environ["BENCH_MEGABYTES"])):
        (job.public / f"{number:04}.bin").write_bytes(os.urandom(10**6))
    (job.private / "answers.csv").write_text("id,target\\n0,0\\n")
"""
MAKE_FILES = "import os, sys; [open(f'{n:05}.txt', 'wb').write(os.urandom(1000)) for n in range(int(sys.argv[1]))]"


def main() -> None:
    """Print every ratio and whether it meets the goal, then the cost of snapshots."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--megabytes", type=int, default=1000)
    asked = parser.parse_args()
    if sys.version_info < (3, 12):
        asyncio.set_child_watcher(asyncio.PidfdChildWatcher())  # as the process of a trial does
    with tempfile.TemporaryDirectory(prefix="assay-bench-", dir="/var/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)  # labs run as a user of their own
        (folder / "home").mkdir()
        (folder / "home" / "environments").symlink_to(Home.default().environments)
        home, task = Home(folder / "home"), make_suite(folder / "suite", {"large": PREPARE})["large"]
        os.environ["BENCH_MEGABYTES"] = str(asked.megabytes)
        data = prepare(home, task, progress=NoProgress()).public
        setup = Setup(find_environment(home, task.environment), data=data)
        anyio.run(measure_steps, home, task, setup, folder / "trial", asked.pairs)
        for count in FILES:
            anyio.run(measure_snapshots, home, setup, folder / f"store-{count}", count)


async def measure_steps(home: Home, task: Task, setup: Setup, folder: Path, pairs: int) -> None:
    """Take steps and run bare commands in turn, in two labs of the same making."""
    with slots.acquire_slot(home, setup.limits, groups=False) as slot:
        (slot.workspace / "data").mkdir()
        sandbox = Bubblewrap(home, slot, setup)
        async with open_lab(home, setup) as lab, at_bench(task, lab, folder) as bench:
            for name, command in COMMANDS.items():
                steps, bare = [], []
                for _ in range(pairs):
                    steps.append(await seconds(lambda: bench.run(command)))  # noqa: B023
                    bare.append(await seconds(lambda: run_bare(sandbox, command)))  # noqa: B023
                report_step(name, steps, bare)


def report_step(name: str, steps: list[float], bare: list[float]) -> None:
    """Report the median ratio of a step to the bare command."""
    ratio = statistics.median(step / alone for step, alone in zip(steps, bare, strict=True))
    step, alone = (1000 * statistics.median(taken) for taken in (steps, bare))
    report(f"a step of {name}", f"{step:.1f} ms", ratio, f"bare bubblewrap ({alone:.1f} ms)", GOAL)


@asynccontextmanager
async def at_bench(task: Task, lab: Lab, folder: Path) -> AsyncIterator[Workbench]:
    """A workbench as a trial has it, with a log on disk."""
    folder.mkdir()
    with EventLog(folder / "events.jsonl", 1) as log:
        await lab.write("train.py", b"print('hello')\n")
        clock = Clock(Budget(time=3600, steps=10**6))
        recorder = Recorder(log, lab, clock, folder / "snapshots")
        yield Workbench(task, lab, recorder, seed=0, check_format=lambda content: None)


async def run_bare(sandbox: Bubblewrap, command: Sequence[str]) -> None:
    """The same command in the same walls, by nothing but bubblewrap."""
    with sandbox.command_line(command, {}) as (line, handles):
        subprocess.run(
            line, pass_fds=handles, env={}, cwd="/", stdin=subprocess.DEVNULL, capture_output=True, check=True
        )


async def measure_snapshots(home: Home, setup: Setup, store: Path, count: int) -> None:
    """Keep a workspace of so many small files over and over."""
    async with open_lab(home, setup) as lab:
        completed = await lab.run(["python", "-c", MAKE_FILES, str(count)], seconds=60)
        assert completed.succeeded, completed.stderr.text
        await anyio.sleep(0.2)  # files that changed a moment ago are always read again
        last = await lab.snapshot(store)
        unchanged, changed = [], []
        for number in range(10):
            started = time.perf_counter()
            last = await lab.snapshot(store, last)
            unchanged.append(time.perf_counter() - started)
            await lab.write("00000.txt", bytes([number]))
            started = time.perf_counter()
            last = await lab.snapshot(store, last)
            changed.append(time.perf_counter() - started)
            await anyio.sleep(0.2)
            last = await lab.snapshot(store, last)
    unchanged_ms, changed_ms = (1000 * statistics.median(taken) for taken in (unchanged, changed))
    print(f"a snapshot of {count:,} files: {unchanged_ms:.1f} ms if none has changed, {changed_ms:.1f} ms if one has")
    name, limit = f"a snapshot of {count:,} unchanged files", f"the limit of {SNAPSHOT_GOAL} ms"
    report(name, f"{unchanged_ms:.1f} ms", unchanged_ms / SNAPSHOT_GOAL, limit, 1 if count == max(FILES) else None)


async def seconds(work: Callable[[], Awaitable[object]]) -> float:
    """How long something takes."""
    started = time.perf_counter()
    await work()
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
