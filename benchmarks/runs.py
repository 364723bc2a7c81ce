"""Overhead of a trial relative to its bare steps: `python benchmarks/runs.py [--pairs 10] [--trials 20 200 1000]`.

A trial asks a scripted model five times, runs the command in each reply, submits and is graded; it has its own process,
lab, limits, record with snapshots, and grade. The baseline runs the same commands in the same sandbox, started by bare
bubblewrap, with the same concurrency. Goals: once everything is loaded, a trial adds less than 90 ms to the time of
its bare steps, a trial among thousands is no slower than one among hundreds, and the driver needs no more memory.

Because trials run on all cores at once, a trial adds less to the time of a run than it takes by itself. Trials run one
at a time are measured too, without a goal.
"""

import argparse
import multiprocessing.forkserver
import os
import resource
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from figures import report

from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.data import prepare
from assay.lab import Limits, Setup
from assay.lab.environments import find_environment
from assay.lab.host import slots
from assay.lab.sandboxes.bubblewrap import Bubblewrap
from assay.records import RunFolder
from assay.runs.driver import execute_run
from assay.runs.executors.local import LocalExecutor
from assay.runs.plan import Plan
from assay.tasks import Registry, Task

GOAL = 0.090
LINEAR = 1.25
PAIR = 20
SUITE = 'format = "suite/1"\nname = "bench"\ntitle = "For measuring."\neditions = ["v1"]\ntasks = ["coin"]\n'
TASK = """
format = "task/1"
title = "Which side is up"
summary = "For measuring."
kind = "tabular-classification"

[source]
about = "made up"
license = "none needed"

[submission]
form = "csv"
file = "submission.csv"
id = "coin"

[submission.columns.side]
type = "integer"
values = [0, 1]

[metric]
name = "accuracy"
direction = "higher"

[budget]
time = "10m"
steps = 5
"""
PREPARE = """
def prepare(job):
    (job.public / "test.csv").write_text("coin\\n" + "".join(f"{coin}\\n" for coin in range(30)))
    (job.private / "answers.csv").write_text("coin,side\\n" + "".join(f"{coin},{coin % 2}\\n" for coin in range(30)))
"""
COMMANDS = ("sed '1s/$/,side/;2,$s/$/,0/' data/test.csv > submission.csv", *(f"echo {n} >> notes" for n in range(4)))
AGENT = """
from assay.agents import Agent, Workbench
from assay.models import Message

class Obedient(Agent):
    \"\"\"Run the commands in the replies of a model.\"\"\"

    asks_models = True

    async def work(self, bench: Workbench) -> None:
        for number in range(5):
            reply = await bench.ask("main", [Message(role="user", text=f"What is step {number}?")])
            await bench.run(["sh", "-c", reply.message.text])
"""


@dataclass(frozen=True)
class Bench:
    """A task that is prepared, an agent and a model for it."""

    home: Home
    task: Task
    folder: Path
    cores: int

    def run(self, trials: int, name: str) -> float:
        """Seconds for so many trials, from nothing to the last grade."""
        model = f"scripted/{self.folder / 'script.py'}:answer"
        agent = (f"{self.folder / 'agent.py'}:Obedient", {})
        plan = Plan((self.task,), (agent,), ({"main": model},), seeds=trials, tasks_folder=self.folder)
        run = RunFolder(self.folder / name)
        started = time.perf_counter()
        run.add(plan.trials(self.home))
        execute_run(run, LocalExecutor(self.home, cores=self.cores), progress=NoProgress())
        taken = time.perf_counter() - started
        assert all(trial.grade and trial.grade.valid_submission for trial in run.trials())
        return taken

    def run_bare(self, trials: int) -> float:
        """Seconds for the same commands by nothing but bubblewrap."""
        setup = Setup(find_environment(self.home, self.task.environment), data=self.data)
        with slots.acquire_slot(self.home, Limits(), groups=False) as slot:
            (slot.workspace / "data").mkdir()
            sandbox = Bubblewrap(self.home, slot, setup)
            started = time.perf_counter()
            with ThreadPoolExecutor(self.cores) as pool:
                list(pool.map(lambda number: run_all(sandbox), range(trials)))
            return time.perf_counter() - started

    @property
    def data(self) -> Path:
        """What a lab sees of the task."""
        return prepare(self.home, self.task, progress=NoProgress()).public


def main() -> None:
    """Print how long trials take, how much memory they need, and whether the goals are met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, nargs="+", default=[20, 200, 1000])
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)))
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="assay-bench-", dir="/var/tmp") as name:
        bench = make_bench(Path(name), asked.cores)
        bench.run(bench.cores, "warm")
        with watched_memory() as seen:
            bench.run(10, "watched")
        print(f"memory of a trial in flight: {seen.own:.0f} MB of its own, {seen.resident:.0f} MB with what is shared")
        measure_trial(bench, asked.pairs, GOAL)
        measure_trial(replace(bench, cores=1), asked.pairs)
        measure_growth(bench, sorted(asked.trials))


def measure_trial(bench: Bench, pairs: int, goal: float | None = None) -> None:
    """Run twenty trials and the same steps bare in turn, so that what else the machine does slows both alike."""
    whole, bare = [], []
    for number in range(pairs):
        whole.append(bench.run(PAIR, f"pair-{goal}-{number}") / PAIR)
        bare.append(bench.run_bare(PAIR) / PAIR)
    overhead = statistics.median(ours - alone for ours, alone in zip(whole, bare, strict=True))
    took, alone = (1000 * statistics.median(taken) for taken in (whole, bare))
    print(f"{bench.cores} at once, {PAIR * pairs} trials: {took:.0f} ms each, their steps alone {alone:.0f} ms")
    name, limit = f"overhead of a trial, {bench.cores} at once", f"the limit of {1000 * GOAL:.0f} ms"
    report(name, f"{1000 * overhead:.0f} ms", overhead / GOAL, limit, None if goal is None else 1)


def measure_growth(bench: Bench, sizes: Sequence[int]) -> None:
    """Run ever more trials at once, each time between two measurements of bare steps."""
    ratios, memory = dict[int, float](), dict[int, float]()
    for trials in sizes:
        before = bench.run_bare(PAIR)
        taken = bench.run(trials, f"run-{trials}")
        bare = (before + bench.run_bare(PAIR)) / 2 / PAIR
        ratios[trials], memory[trials] = taken / trials / bare, read_memory()
        print(
            f"{trials:,} trials: {taken:.1f} s, {ratios[trials]:.2f} x bare; driver {memory[trials]:.0f} MB", flush=True
        )
    if len(sizes) > 1:
        few, many = sizes[-2:]
        report(
            f"a trial of {many:,}", f"{ratios[many]:.2f} x bare", ratios[many] / ratios[few], f"one of {few:,}", LINEAR
        )
        grown = memory[many] / memory[few]
        report(f"memory of the driver of {many:,}", f"{memory[many]:.0f} MB", grown, f"that of {few:,}", LINEAR)


def read_memory() -> float:
    """Return the peak memory of this process, which drives the trials, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def run_all(sandbox: Bubblewrap) -> None:
    """The steps of one trial."""
    for command in COMMANDS:
        with sandbox.command_line(["sh", "-c", command], {}) as (line, handles):
            subprocess.run(
                line, pass_fds=handles, env={}, cwd="/", stdin=subprocess.DEVNULL, capture_output=True, check=True
            )


class LabPaths:
    """What was seen of trials' processes, in megabytes: memory of their own, and all that is resident."""

    def __init__(self) -> None:
        self._own: list[float] = []
        self._resident: list[float] = []

    def look(self) -> None:
        """Look at every process that was forked for a trial."""
        server = multiprocessing.forkserver._forkserver._forkserver_pid  # type: ignore[attr-defined]
        for process in Path(f"/proc/{server}/task/{server}/children").read_text().split():
            try:
                lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()[1:]
            except OSError:
                continue
            sizes = {line.split(":")[0]: int(line.split()[1]) / 1000 for line in lines}
            self._own.append(sizes["Private_Clean"] + sizes["Private_Dirty"])
            self._resident.append(sizes["Rss"])

    @property
    def own(self) -> float:
        """The most that nearly all of them had of their own."""
        return statistics.quantiles(self._own, n=10)[-1]

    @property
    def resident(self) -> float:
        """The most that nearly all of them had in all."""
        return statistics.quantiles(self._resident, n=10)[-1]


@contextmanager
def watched_memory() -> Iterator[LabPaths]:
    """Look at trials' processes over and over for the length of the block."""
    seen, over = LabPaths(), threading.Event()

    def watch() -> None:
        while not over.wait(0.02):
            seen.look()

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield seen
    finally:
        over.set()
        watcher.join()


def make_bench(folder: Path, cores: int) -> Bench:
    """A home, a task in it, an agent and a script for its model."""
    folder.chmod(0o755)  # labs run as a user of their own
    (folder / "home").mkdir()
    (folder / "home" / "environments").symlink_to(Home.default().environments)
    (folder / "coin").mkdir()
    texts = {
        "suite.toml": SUITE,
        "coin/task.toml": TASK,
        "coin/prepare.py": PREPARE,
        "coin/description.md": "Guess.\n",
        "agent.py": AGENT,
        "script.py": f"COMMANDS = {COMMANDS!r}\n\ndef answer(messages, tools):\n"
        "    return COMMANDS[int(messages[-1].text.split()[-1].strip('?'))]\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    home, task = Home(folder / "home"), Registry([folder]).task("bench/coin")
    prepare(home, task, progress=NoProgress())
    return Bench(home, task, folder, cores)


if __name__ == "__main__":
    main()
