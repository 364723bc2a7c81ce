"""Overhead of an environment of Gymnasium: `python benchmarks/gym.py [--pairs 30] [--episodes 1000]`.

A step of `LabEnv` runs a command with its limits and the examination after it; the baseline is the same command
in the same sandbox, started by bare bubblewrap. Both alternate. Goal: a step takes at most 1.5 times as long.

Then whole episodes, one after the other: the memory of the process and its open files must not grow. Compared are those
after all episodes with those after a tenth of them.
"""

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import anyio
from figures import report
from steps import COMMANDS, run_bare
from steps import seconds as time_bare
from toy import make_suite

from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.data import prepare
from assay.gym import LabEnv, World, bash, submit
from assay.lab import Setup
from assay.lab.environments import find_environment
from assay.lab.host import slots
from assay.lab.sandboxes.bubblewrap import Bubblewrap

GOAL = 1.5
GROWTH_GOAL = 1.05
PREPARE = """
def prepare(job):
    (job.public / "test.csv").write_text("id\\n0\\n1\\n")
    (job.private / "answers.csv").write_text("id,target\\n0,0\\n1,1\\n")
"""
ANSWER = "printf 'id,target\\n0,0\\n1,1\\n' > submission.csv"


def main() -> None:
    """Print the ratio of a step, then the growth over many episodes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--episodes", type=int, default=1000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="assay-bench-", dir="/var/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)  # labs run as a user of their own
        (folder / "home").mkdir()
        (folder / "home" / "environments").symlink_to(Home.default().environments)
        home, task = Home(folder / "home"), make_suite(folder / "suite", {"small": PREPARE})["small"]
        data = prepare(home, task, progress=NoProgress()).public
        env = LabEnv(World(task.id, folder=folder / "suite"), home=home, steps=10**4, seconds=10**5)
        setup = Setup(find_environment(home, task.environment), data=data)
        measure_steps(env, home, setup, asked.pairs)
        measure_growth(env, asked.episodes)
        env.close()


def measure_steps(env: LabEnv, home: Home, setup: Setup, pairs: int) -> None:
    """Take steps and run bare commands in turn."""
    env.reset(seed=0)
    with slots.acquire_slot(home, setup.limits, groups=False) as slot:
        (slot.workspace / "data").mkdir()
        sandbox = Bubblewrap(home, slot, setup)
        for name, command in COMMANDS.items():
            line = " ".join(f"'{word}'" for word in command)
            steps, bare = [], []
            for _ in range(pairs):
                steps.append(seconds(lambda: env.step(bash(f"exec {line}"))))  # noqa: B023
                bare.append(anyio.run(time_bare, lambda: run_bare(sandbox, ["bash", "-c", f"exec {line}"])))  # noqa: B023
            ratio = statistics.median(step / alone for step, alone in zip(steps, bare, strict=True))
            step, alone = (1000 * statistics.median(taken) for taken in (steps, bare))
            report(f"a gym step of {name}", f"{step:.1f} ms", ratio, f"bare bubblewrap ({alone:.1f} ms)", GOAL)


def measure_growth(env: LabEnv, episodes: int) -> None:
    """Play episodes with one command and a submission each."""
    early = (0, 0)
    started = time.perf_counter()
    for number in range(episodes):
        env.reset(seed=number)
        env.step(bash(ANSWER))
        _, reward, ended, _, _ = env.step(submit())
        assert ended and reward == 1.0, reward
        if number == episodes // 10:
            early = (resident_bytes(), open_files())
    each = (time.perf_counter() - started) / episodes
    late = (resident_bytes(), open_files())
    memory = f"{late[0] / 2**20:.0f} MiB"
    baseline = f"after a tenth of {episodes:,} episodes of {1000 * each:.0f} ms"
    report("memory after gym episodes", memory, late[0] / early[0], baseline, GROWTH_GOAL)
    report("open files after gym episodes", str(late[1]), late[1] / early[1], baseline, GROWTH_GOAL)


def resident_bytes() -> int:
    """Return the resident memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def open_files() -> int:
    """Return the number of open files of this process."""
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208


def seconds(work: Callable[[], object]) -> float:
    """Return how long something takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
