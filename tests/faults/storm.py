"""Kills random processes of runs until they are complete, and counts what was lost, done twice or left behind.

`make faults` runs the large form, as root: 500 kills in runs on this machine, on Slurm and on Ray, with an external
agent, a model provider that dies and a clock that jumps; a home that turns read-only; and a disk that gets full at
every byte of a small trial. It prints the figures and writes them as JSON. `test_storm.py` runs a small form.
"""

import argparse
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent))

from every_byte import add
from machine import Machine
from processes import find_remains, find_victims

from assay.core.disk import atomic_write
from assay.core.home import Home
from assay.core.table import Column, Table
from assay.records.log import read_log_lines
from assay.records.signature import run_digest
from assay.tasks import Registry
from assay.verification.run import verify_run
from isolation import borrow_machine, isolate, make_folder, remove_home
from tiny_run import TESTS, TinyRun, prepare_tiny

FOLDER = Path(__file__).parent
TRIALS, STEPS, TIME = 3, 5, "20m"
"""With little time, a trial on a busy machine ends because it is up, which is not a fault that was injected."""
KILLS_PER_RUN = 40
"""After so many, a run is left to complete."""
FAILURES = 5
"""How often a run may fail although nothing was killed: the provider may still be starting."""
AGENT = f"{FOLDER / 'busy.py'}:Counts,steps={STEPS}"
OPTIONS = ("-c", "retry_wait=0s", "--attempts", "1000", "-c", "lease=10s")
KINDS = {
    "lab": 5, "worker": 3, "watchdog": 2, "job": 2, "endpoint": 2, "provider": 1, "driver": 1, "fork server": 0.5,
    "helper": 0.5,
}  # fmt: skip
"""What is killed, and how often relative to the others."""
OF_MODELS, OF_CLUSTERS, OF_ONE_MACHINE = ("endpoint", "provider"), ("job",), ("fork server",)
PATIENCE = 4.0
"""Seconds to wait for a process of a kind, which may not occur in a run."""
PAUSES = (0.05, 0.3)
JUMPS = ("+0", "+10d", "-20d", "+3h")
DATES = ("which is in the future", "before the run was created", "before there was this software")
PARTS = 8
FLIPS = 12


@dataclass
class Tally:
    """What happened: faults by kind, and what went wrong, which should be nothing."""

    name: str
    faults: Counter[str] = field(default_factory=Counter)
    trials: int = 0
    seconds: float = 0.0
    lost: list[str] = field(default_factory=list)
    twice: list[str] = field(default_factory=list)
    left_behind: list[str] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        """Whether nothing was lost, done twice or left behind."""
        return not (self.lost or self.twice or self.left_behind)

    def report(self) -> None:
        """Print the figures so far: all of it takes hours, and may be ended early."""
        wrong = f"{len(self.lost)} lost, {len(self.twice)} done twice, {len(self.left_behind)} left behind"
        faults = f"{self.faults.total()} faults, {self.trials} trials"
        sys.stderr.write(f"{self.name}: {faults}, {wrong}, {self.seconds:.0f} seconds\n")
        for problem in (*self.lost, *self.twice, *self.left_behind):
            sys.stderr.write(f"    {problem}\n")


class Provider:
    """A model provider that is started again when it was killed."""

    def __init__(self, inside: Sequence[str], port: int) -> None:
        self.address = f"http://127.0.0.1:{port}/v1"
        self._command = [*inside, sys.executable, str(FOLDER / "provider.py"), str(port)]
        self._process = subprocess.Popen(self._command, stderr=subprocess.DEVNULL)

    def kill(self) -> None:
        """Kill it."""
        subprocess.run(["pkill", "-KILL", "-P", str(self._process.pid)], check=False)
        self._process.kill()
        self._process.wait()

    def restart(self) -> None:
        """Start it again if it has ended."""
        if self._process.poll() is not None:
            self._process = subprocess.Popen(self._command, stderr=subprocess.DEVNULL)


@dataclass
class Site:
    """Where runs take place: their home, the namespaces of a cluster, its variables, and the options of a run.

    The clock jumps in runs with the variables `clock`. Bubblewrap does not start with them, so these have other labs.
    """

    home: Home
    options: tuple[str, ...] = ()
    inside: Sequence[str] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    clock: Mapping[str, str] = field(default_factory=dict)
    provider: Provider | None = None
    on_kill: Callable[[], object] = lambda: None

    def make_run(self, out: Path, number: int) -> TinyRun:
        """Return a new run; in every third one, the clock jumps."""
        run = TinyRun(self.home, out, inside=self.inside)
        run.variables = {**self.variables, **(self.clock if number % 3 == 2 else {}), "OPENAI_API_KEY": "valid-key"}
        return run


def storm(site: Site, folder: Path, kills: int, chance: random.Random, tally: Tally) -> None:
    """Kill processes of one run after the other until there were so many kills, and check each run when it is done."""
    began, number = time.monotonic(), 0
    while tally.faults.total() < kills:
        run = site.make_run(folder / f"run{number}", number)
        external = site.provider is not None and number % 2 == 1
        try:
            _storm_run(run, site, external, min(kills - tally.faults.total(), KILLS_PER_RUN), tally, chance)
            _check(run, external, tally)
        finally:
            run.close()
        number += 1
        tally.seconds = time.monotonic() - began
        tally.report()


def _storm_run(run: TinyRun, site: Site, external: bool, kills: int, tally: Tally, chance: random.Random) -> None:
    words = [*run.run_words("starter", seeds=TRIALS, time=TIME), "--agent", AGENT, *OPTIONS, *site.options]
    if external and site.provider:
        model = ["--model", "openai/gpt-4o", "--set", f"base_url={site.provider.address}", "--set", "max_retries=0"]
        words += ["--agent", f"external,profile={FOLDER / 'asks.toml'}", *model]
    finished: dict[str, bytes] = {}
    failures, killer = 0, Killer(site, external, chance)
    while True:
        begun = (run.out / "run.json").exists()
        killed = tally.faults.total()
        process = run.start(*(["resume", str(run.out), "--quiet", *OPTIONS] if begun else words))
        while process.poll() is None:
            with suppress(subprocess.TimeoutExpired):
                process.wait(chance.uniform(*PAUSES))
            if site.provider:
                site.provider.restart()
            if kills > 0 and process.poll() is None and (victim := killer.kill()):
                tally.faults[victim] += 1
                kills -= 1
                site.on_kill()
        after = _finished(run)
        changed = [name for name, log in finished.items() if not after.get(name, b"").startswith(log)]
        tally.lost += [f"{run.out.name}: the log of {name} changed after its end" for name in changed]
        finished = after
        _, stderr = process.communicate()
        if process.returncode == 0:
            return
        failures += process.returncode > 0 and killed == tally.faults.total()
        if failures > FAILURES or (process.returncode > 0 and "Traceback" in stderr):
            tally.lost.append(f"{run.out.name}: {stderr[-3000:]}")
            return


class Killer:
    """Kills one random process after the other: it chooses a kind, and waits until there is a process of it.

    Otherwise most kills would hit workers that are starting, and a run would never get to its labs.
    """

    def __init__(self, site: Site, external: bool, chance: random.Random) -> None:
        self._site, self._chance = site, chance
        absent = {*(() if external else OF_MODELS), *(OF_ONE_MACHINE if site.inside else OF_CLUSTERS)}
        self._kinds = {kind: weight for kind, weight in KINDS.items() if kind not in absent}
        self._choose()

    def kill(self) -> str | None:
        """Kill a process of the chosen kind, and return the kind; None if there is none yet."""
        victims = find_victims(self._site.home)
        if self._chosen == "provider":
            assert self._site.provider is not None
            self._site.provider.kill()
        else:
            chosen = sorted(pid for pid, kind in victims.items() if kind == self._chosen)
            if not chosen:
                if time.monotonic() > self._until:
                    self._choose()
                return None
            try:
                os.kill(self._chance.choice(chosen), signal.SIGKILL)
            except ProcessLookupError:
                return None
        return self._choose()

    def _choose(self) -> str:
        """Choose what is killed next, and return what was before."""
        before = getattr(self, "_chosen", "")
        self._chosen: str = self._chance.choices(list(self._kinds), list(self._kinds.values()))[0]
        self._until = time.monotonic() + PATIENCE
        return before


def _finished(run: TinyRun) -> dict[str, bytes]:
    if not (run.out / "run.json").exists():
        return {}
    return {
        trial.path.name: b"".join(read_log_lines(trial.events)) for trial in run.folder.trials() if trial.state.final
    }


def _check(run: TinyRun, external: bool, tally: Tally) -> None:
    """Count trials that are not done or not whole, that were submitted or graded twice, and what is left of labs."""
    trials, planned = list(run.folder.trials()), (3 if external else 2) * TRIALS
    tally.trials += len(trials)
    if len(trials) != planned:
        tally.lost.append(f"{run.out.name}: {len(trials)} trials of {planned}")
    for trial in trials:
        kinds, name = run.events()[trial.path.name], f"{run.out.name}/{trial.path.name}"
        # A process in the lab that is killed is the agent's; without a submission, its trial has failed, but has ended.
        ended = trial.state.status == "done" or (trial.state.status, trial.state.cause) == ("failed", "agent")
        if not ended or kinds.count("graded") != 1:
            tally.lost.append(f"{name}: {trial.state.status}, {trial.state.reason}")
        for kind in ("submitted", "graded"):
            if kinds.count(kind) > 1:
                tally.twice.append(f"{name}: {kinds.count(kind)} times {kind}")
        if "Counts" in trial.file.agent and trial.state.steps != STEPS + 1:
            tally.twice.append(f"{name}: {trial.state.steps} steps instead of {STEPS + 1}")
    verification = verify_run(run.folder, run_digest(run.folder), Registry([TESTS / "tiny"]), run.home)
    doubts = [finding for finding in verification.findings if finding.level == "error"]
    # Dates that cannot be are found, rightly: the clock has jumped.
    tally.lost += [f"{run.out.name}: {doubt}" for doubt in doubts if not any(date in doubt.message for date in DATES)]
    tally.left_behind += find_remains(run.home, run.out)


def turn_read_only(home: Home, folder: Path, flips: int, chance: random.Random, tally: Tally) -> None:
    """Turn the home read-only at random moments of runs, the first time before they start; then they complete."""
    began, number = time.monotonic(), 0
    while tally.faults.total() < flips:
        with Machine() as machine:
            run = TinyRun(home, folder / f"run{number}", inside=machine.inside)
            machine.call("mount", "--bind", home.root, home.root)
            words = [*run.run_words("starter", seeds=TRIALS, time=TIME), "--agent", AGENT, *OPTIONS]
            done, failures = False, 0
            while not done:
                if tally.faults.total() < flips:
                    machine.call("mount", "-o", "remount,bind,ro", home.root)
                    tally.faults["read-only home"] += 1
                begun = (run.out / "run.json").exists()
                # With few attempts: it must say what is wrong, rather than try for ever.
                few = ("--attempts", "2", "-c", "retry_wait=0s", "-c", "lease=10s")
                process = run.start(*(["resume", str(run.out), "--quiet", *few] if begun else words))
                with suppress(subprocess.TimeoutExpired):
                    process.wait(chance.uniform(0.5, 6.0))
                machine.call("mount", "-o", "remount,bind,rw", home.root)
                with suppress(subprocess.TimeoutExpired):
                    process.wait(chance.uniform(0.0, 4.0))
                if process.poll() is None and tally.faults.total() < flips:
                    machine.call("mount", "-o", "remount,bind,ro", home.root)
                    tally.faults["read-only home"] += 1
                    with suppress(subprocess.TimeoutExpired):
                        process.wait(chance.uniform(0.5, 4.0))
                    machine.call("mount", "-o", "remount,bind,rw", home.root)
                _, stderr = process.communicate(timeout=600)
                failures += process.returncode > 0 and tally.faults.total() >= flips
                if "Traceback" in stderr or failures > FAILURES:
                    tally.lost.append(f"{run.out.name}: {stderr[-3000:]}")
                done = process.returncode == 0 or failures > FAILURES
            _check(run, False, tally)
            run.close()
        number += 1
        tally.seconds = time.monotonic() - began
        tally.report()


def fill_disk(tally: Tally, every: int) -> None:
    """Fill the disk at every byte, flush and new file of a small trial, or every so-manieth, in several processes."""
    began = time.monotonic()
    command = [sys.executable, str(FOLDER / "every_byte.py")]
    parts = [
        subprocess.Popen([*command, str(part * every), str(PARTS * every)], stdout=subprocess.PIPE, text=True)
        for part in range(PARTS)
    ]
    printed = [part.communicate()[0] for part in parts]
    if any(part.returncode for part in parts):
        tally.lost.append("a process that filled the disk has failed")
        return
    total = add(json.loads(text) for text in printed)
    tally.faults.update({"full at a byte": total.bytes, "at a flush": total.flushes, "at a new file": total.files})
    tally.trials = tally.faults.total()
    tally.lost, tally.twice, tally.left_behind = total.lost, total.twice, total.left_behind
    tally.seconds = time.monotonic() - began


@contextmanager
def make_site(where: str, folder: Path, chance: random.Random) -> Iterator[Site]:
    """Make a home, and a cluster if runs take place on one."""
    with ExitStack() as stack:
        root = make_folder()
        stack.callback(remove_home, root)
        home = borrow_machine(root)
        prepare_tiny(home)
        match where:
            case "slurm":
                from small_slurm import SmallSlurm

                short = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="slurm-", dir="/var/tmp")))
                slurm = SmallSlurm(short)
                stack.callback(slurm.close)
                site = Site(home, ("--on", "slurm"), slurm.inside, slurm.variables, on_kill=slurm.hurry)
            case "ray":
                from conftest import RAY, RayNodes

                nodes = RayNodes()
                stack.callback(nodes.close)
                site = Site(home, ("--on", f"ray:{nodes.address}", "--memory", "1GB"), nodes.inside, RAY)
            case _:
                clock = folder / "clock"
                site = Site(home, ("--cores", "4"), clock=make_clock(clock))
                site.on_kill = lambda: atomic_write(clock, chance.choice(JUMPS))
        site.provider = Provider(site.inside, _free_port())
        stack.callback(site.provider.kill)
        yield site


def make_clock(path: Path) -> dict[str, str]:
    """Return the variables of processes whose clock is set by a file."""
    library = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))
    atomic_write(path, "+0")
    return {
        "LD_PRELOAD": str(library),
        "FAKETIME_TIMESTAMP_FILE": str(path),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "NO_FAKE_STAT": "1",
    }


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port: int = held.getsockname()[1]
        return port


def show(tallies: Sequence[Tally]) -> Table:
    """Return the figures as a table."""
    columns = (
        Column("where"),
        Column("faults", kind="integer"),
        Column("kinds", kind="prose"),
        Column("trials", kind="integer"),
        Column("lost", kind="integer"),
        Column("twice", title="done twice", kind="integer"),
        Column("left_behind", kind="integer"),
        Column("seconds", kind="duration"),
    )
    rows = tuple(
        (
            tally.name,
            tally.faults.total(),
            ", ".join(f"{kind} {count}" for kind, count in tally.faults.most_common()),
            tally.trials,
            len(tally.lost),
            len(tally.twice),
            len(tally.left_behind),
            tally.seconds,
        )
        for tally in tallies
    )
    problems = [problem for tally in tallies for problem in (*tally.lost, *tally.twice, *tally.left_behind)]
    return Table("faults", columns, rows, title="Faults", notes=tuple(problems))


def main() -> int:
    """Inject all faults, print the figures, and fail unless nothing was lost, done twice or left behind."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--kills", type=int, default=500, help="kills in all: three fifths here, the others on clusters"
    )
    parser.add_argument("--every", type=int, default=1, help="fill the disk only at every so-manieth position")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, default=Path("build/faults.json"), help="file for the figures")
    parser.add_argument("--only", choices=["local", "slurm", "ray", "home", "disk"], action="append")
    options = parser.parse_args()
    chosen = options.only or ["local", "slurm", "ray", "home", "disk"]
    sys.path.insert(0, str(TESTS / "cluster"))  # before this script's folder, which has a conftest of its own
    tallies: list[Tally] = []
    with tempfile.TemporaryDirectory(prefix="assay-storm-", dir="/var/tmp") as temporary:
        Path(temporary).chmod(0o755)
        isolate(Path(temporary))
        threads = [
            threading.Thread(target=_inject, args=(where, options, Path(temporary) / where, tallies))
            for where in chosen
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        remove_home(Path(temporary) / "default")
    table = show(sorted(tallies, key=lambda tally: chosen.index(tally.name)))
    sys.stdout.write(table.to_text(None) + "\n")
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(table.to_json())
    return 0 if len(tallies) == len(chosen) and all(tally.clean for tally in tallies) else 1


def _inject(where: str, options: argparse.Namespace, folder: Path, tallies: list[Tally]) -> None:
    chance, tally = random.Random(f"{options.seed} {where}"), Tally(where)
    folder.mkdir()
    tallies.append(tally)
    try:
        if where == "disk":
            fill_disk(tally, options.every)
        else:
            with make_site(where, folder, chance) as site:
                if where == "home":
                    turn_read_only(site.home, folder, FLIPS, chance, tally)
                else:
                    kills = options.kills * 3 // 5 if where == "local" else options.kills // 5
                    storm(site, folder, kills, chance, tally)
    except Exception:  # noqa: BLE001 - the others go on, and it counts as a failure
        tally.lost.append(traceback.format_exc())


if __name__ == "__main__":
    sys.exit(main())
