"""Kills random processes of runs until they are complete, and counts what was lost, done twice or left behind.

`make faults` runs the large form, as root: 500 kills in runs on this machine, Slurm and Ray, while the clock jumps, and
a log that a full disk cuts at every byte. `test_storm.py` runs a small one.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from assay.core.disk import atomic_write
from assay.core.home import Home
from assay.lab.host import slots
from assay.records import EventLog, read_events
from assay.records.events import Restarted

sys.path.append(str(Path(__file__).parent.parent))

from tiny_run import TinyRun, prepare_tiny

TESTS = Path(__file__).parent.parent
TRIALS, STEPS = 3, 6
KILLS_PER_RUN = 30  # then it is left to complete
AGENT = f"{Path(__file__).with_name('busy.py')}:Counts,steps={STEPS}"
OPTIONS = ("-c", "retry_wait=0s", "--attempts", "1000", "-c", "lease=10s")
# What a process is, by a word in its command line; the first that fits counts.
KINDS = {
    "watchdog": "read -r line",
    "lab": "bwrap",
    "worker": "assay.runs",
    "fork server": "multiprocessing",
    "driver": "-m\0assay",
}
PAUSES = (0.05, 0.8)
JUMPS = ("+0", "+10d", "-20d", "+3h")


@dataclass
class Tally:
    """What happened: kills by kind of process, and faults of the harness, of which there should be none."""

    kills: Counter[str] = field(default_factory=Counter)
    trials: int = 0
    lost: list[str] = field(default_factory=list)
    twice: list[str] = field(default_factory=list)
    left_behind: list[str] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        """Whether nothing was lost, done twice or left behind."""
        return not (self.lost or self.twice or self.left_behind)

    def __str__(self) -> str:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(self.kills.items()))
        figures = f"{len(self.lost)} lost, {len(self.twice)} twice, {len(self.left_behind)} left behind"
        return f"{self.kills.total()} kills ({kinds}), {self.trials} trials: {figures}"


def storm(make_run: Callable[[Path], TinyRun], folder: Path, kills: int, chance: random.Random, *on: str) -> Tally:
    """Kill processes of one run after the other until there were so many kills, and check each run when it is done."""
    tally = Tally()
    while tally.kills.total() < kills:
        run = make_run(folder / f"run{tally.trials}")
        try:
            _storm_run(run, min(kills - tally.kills.total(), KILLS_PER_RUN), tally, chance, on)
            _check(run, tally)
        finally:
            run.close()
    return tally


def _storm_run(run: TinyRun, kills: int, tally: Tally, chance: random.Random, on: Sequence[str]) -> None:
    words = [*run.run_words("starter", seeds=TRIALS), "--agent", AGENT, *OPTIONS, *on]
    finished: dict[str, bytes] = {}
    while True:
        begun = (run.out / "run.json").exists()
        process = run.start(*(["resume", str(run.out), "--quiet", *OPTIONS] if begun else words))
        while process.poll() is None:
            with suppress(subprocess.TimeoutExpired):
                process.wait(chance.uniform(*PAUSES))
            if kills > 0 and process.poll() is None and (victim := _kill_any(run, process.pid, chance)):
                tally.kills[victim] += 1
                kills -= 1
        after = _finished(run)
        changed = [name for name, log in finished.items() if not after.get(name, b"").startswith(log)]
        tally.lost += [f"{run.out.name}: the log of {name} changed after its end" for name in changed]
        finished = after
        stderr = process.communicate()[1]
        if process.returncode == 0:
            return
        if process.returncode > 0 and kills <= 0 and "Traceback" in stderr:
            tally.lost.append(f"{run.out.name}: {stderr[-2000:]}")
            return


def _kill_any(run: TinyRun, root: int, chance: random.Random) -> str | None:
    """Kill one random process of a run, and return its kind; None if it was too late."""
    victims = [(pid, kind) for pid in {root, *_descendants(root), *_of_home(run.home)} if (kind := _kind(pid))]
    if not victims:
        return None
    kinds = sorted({kind for _, kind in victims})
    if kinds == ["driver"] and chance.random() < 0.95:
        return None  # it is still starting, and would never get to its trials
    kind = chance.choice(kinds)
    pid = chance.choice(sorted(pid for pid, its in victims if its == kind))
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return None
    return kind


def _kind(pid: int) -> str | None:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return None
    return next((kind for kind, word in KINDS.items() if word in words), "other" if words else None)


def _descendants(process: int) -> Iterator[int]:
    with suppress(OSError):
        for task in Path(f"/proc/{process}/task").glob("*/children"):
            for child in map(int, task.read_text().split()):
                yield child
                yield from _descendants(child)


def _of_home(home: Home) -> Iterator[int]:
    """Yield the processes that work in a home: those with it in their environment or command line."""
    needle = os.fsencode(home.root)
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            with suppress(OSError):
                if needle in (folder / "environ").read_bytes() or needle in (folder / "cmdline").read_bytes():
                    yield int(folder.name)


def _finished(run: TinyRun) -> dict[str, bytes]:
    if not (run.out / "run.json").exists():
        return {}
    return {trial.path.name: trial.events.read_bytes() for trial in run.folder.trials() if trial.state.final}


def _check(run: TinyRun, tally: Tally) -> None:
    """Count trials that are not done or not whole, that were submitted or graded twice, and what is left of labs."""
    trials = list(run.folder.trials())
    tally.trials += len(trials)
    if len(trials) != 2 * TRIALS:
        tally.lost.append(f"{run.out.name}: {len(trials)} trials of {2 * TRIALS}")
    for trial in trials:
        kinds = run.events()[trial.path.name]
        if trial.state.status != "done" or "graded" not in kinds:
            tally.lost.append(f"{trial.path.name}: {trial.state.status}, {trial.state.reason}")
        for kind in ("submitted", "graded"):
            if kinds.count(kind) > 1:
                tally.twice.append(f"{trial.path.name}: {kinds.count(kind)} times {kind}")
        if "Counts" in trial.file.agent and trial.state.steps != STEPS + 1:
            tally.twice.append(f"{trial.path.name}: {trial.state.steps} steps instead of {STEPS + 1}")
    verified = run.call("verify", str(run.out), "--quiet")
    if verified.returncode != 0:
        tally.lost.append(f"{run.out.name}: {verified.stdout}{verified.stderr}")
    tally.left_behind += list(_remains(run.home))


def _remains(home: Home) -> Iterator[str]:
    """Yield what is left after the next lab would have cleaned up: processes, folders, mounts, control groups."""
    deadline = time.monotonic() + 60
    while (pids := [pid for pid in _of_home(home) if _kind(pid)]) and time.monotonic() < deadline:
        time.sleep(0.2)  # those of a killed driver may be ending
    yield from (f"process {pid}: {_kind(pid)}" for pid in pids)
    names = [folder.name for folder in home.labs.iterdir()]
    slots.sweep(home)
    yield from (str(folder) for folder in home.labs.iterdir())
    mounts = Path("/proc/mounts").read_text().splitlines()
    yield from (line for line in mounts if str(home.labs) in line)
    groups = (folder for folder, _, _ in os.walk("/sys/fs/cgroup"))
    yield from (folder for folder in groups if any(name in folder for name in names))


def cut_everywhere(log: Path, folder: Path, step: int = 1) -> Tally:
    """Cut a log at every byte, as a full disk does, and check that it continues with all complete events before."""
    tally = Tally()
    content = log.read_bytes()
    for position in range(0, len(content), step):
        cut = folder / "events.jsonl"
        cut.write_bytes(content[:position])
        tally.trials += 1
        with EventLog(cut, 1) as events:
            events.append(Restarted(reason="there is space again"))
        after = read_events(cut)
        if len(after) != content[:position].count(b"\n") + 1 or [event.number for event in after] != list(
            range(len(after))
        ):
            tally.lost.append(f"cut at byte {position}: {len(after)} events")
        cut.unlink()
    return tally


@contextmanager
def local_runs(home: Home, folder: Path, chance: random.Random | None = None) -> Iterator[Callable[[Path], TinyRun]]:
    """Runs on this machine, with a clock that has jumped each time a process is started if there is a `chance`."""
    library = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))
    clock = folder / "clock"

    def make(out: Path) -> TinyRun:
        run = TinyRun(home, out)
        if chance:
            atomic_write(clock, chance.choice(JUMPS))
            run.variables = {
                "LD_PRELOAD": str(library),
                "FAKETIME_TIMESTAMP_FILE": str(clock),
                "FAKETIME_NO_CACHE": "1",
                "FAKETIME_DONT_FAKE_MONOTONIC": "1",
                "NO_FAKE_STAT": "1",
            }
        return run

    yield make


@contextmanager
def cluster_runs(
    home: Home, inside: Sequence[str], variables: Mapping[str, str]
) -> Iterator[Callable[[Path], TinyRun]]:
    """Runs that a cluster executes."""

    def make(out: Path) -> TinyRun:
        run = TinyRun(home, out, inside=inside)
        run.variables = dict(variables)
        return run

    yield make


def main() -> int:
    """Run the storm with each executor, print its figures, and fail unless all are 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--kills", type=int, default=500, help="kills in all: three fifths here, the others on clusters"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--on", choices=["local", "slurm", "ray"], action="append")
    options = parser.parse_args()
    sys.path.insert(0, str(TESTS / "cluster"))  # before this script's folder, which has a conftest of its own
    from small_slurm import SmallSlurm

    from conftest import RAY, RayNodes
    from isolation import borrow_machine, make_folder, remove_home

    chance, clean = random.Random(options.seed), True
    for executor in options.on or ["local", "slurm", "ray"]:
        kills = options.kills * 3 // 5 if executor == "local" else options.kills // 5
        with ExitStack() as stack:
            root = make_folder()
            stack.callback(remove_home, root)
            home = borrow_machine(root)
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="assay-storm-", dir="/var/tmp")))
            prepare_tiny(home)
            if executor == "local":
                make = stack.enter_context(local_runs(home, folder, chance))
            elif executor == "slurm":
                short = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="slurm-", dir="/var/tmp")))
                slurm = SmallSlurm(short)
                stack.callback(slurm.close)
                make = stack.enter_context(cluster_runs(home, slurm.inside, slurm.variables))
            else:
                nodes = RayNodes()
                stack.callback(nodes.close)
                make = stack.enter_context(cluster_runs(home, nodes.inside, RAY))
            address = {"local": ["--cores", "2"], "slurm": ["--on", "slurm"]}.get(executor) or [
                "--on",
                f"ray:{nodes.address}",
            ]
            tally = storm(make, folder, kills, chance, *address)
            sys.stdout.write(f"{executor}: {tally}\n")
            if executor == "local":
                log = next(iter(sorted(folder.glob("run*/trials/*/events.jsonl"))))
                cuts = cut_everywhere(log, folder)
                sys.stdout.write(f"full disk: cut at each of {cuts.trials} bytes of a log, {len(cuts.lost)} lost\n")
                tally.lost += cuts.lost
            for fault in (*tally.lost, *tally.twice, *tally.left_behind):
                sys.stdout.write(f"  {fault}\n")
            sys.stdout.flush()
            clean &= tally.clean
    return 0 if clean else 1


if __name__ == "__main__":
    sys.exit(main())
