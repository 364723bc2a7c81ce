"""Many trials on this machine: each a process of its own, as many at once as there are cores."""

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import wait
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from types import FrameType

from assay.agents.agent import agent_class
from assay.errors import AssayError
from assay.home import Home
from assay.lab.devices import gpu_numbers
from assay.progress import Progress, Silent
from assay.records import RunFolder, State, TrialFolder
from assay.runs import trial
from assay.runs.retrying import Allowance, Retries, Spending

GRACE = 20.0
TICK = 0.5
TAKEN = 75

Job = Callable[[Path, Home, tuple[int, ...]], None]


class Stopped(KeyboardInterrupt):
    """The user asked the run to stop; what is finished is kept."""


@dataclass(frozen=True)
class Unstarted:
    """How many trials were left waiting because the run's own allowance is spent, and which part of it."""

    trials: int
    why: str


def execute(
    run: RunFolder,
    home: Home,
    *,
    cores: int | None = None,
    only: str | None = None,
    progress: Progress,
    retries: Retries | None = None,
    allowance: Allowance | None = None,
    gpus: Sequence[int] | None = None,
) -> Unstarted | None:
    """Bring every trial of a run to its end, or `only` one; calling it again does only what is missing.

    What the machine or a provider fails is tried again; once the allowance is spent, no more trials are begun.
    """
    available = cores or len(os.sched_getaffinity(0))
    wanted = (folder for folder in run.trials() if only in (None, folder.path.name))
    unfinished = [folder for folder in wanted if not folder.state.final]
    if not unfinished:
        return None
    if any(agent_class(name).at_terminal for name in {folder.file.agent for folder in unfinished}):
        # A person does one trial at a time, and nobody else may write on their terminal meanwhile.
        available, progress = 1, Silent()
    devices = gpu_numbers() if gpus is None else tuple(gpus)
    _check_gpus(unfinished, len(devices))
    spending = Spending(allowance or Allowance(), run.trials())
    pool = _Pool(home, available, devices, retries or Retries(), spending)
    with progress.stage(
        f"{_counted(len(unfinished), 'trial')} on {_counted(available, 'core')}", total=len(unfinished)
    ) as advance:
        left = pool.work(unfinished, trial.conduct, lambda: advance(1))
    timed = [folder for folder in unfinished if not folder.state.final and folder.handed_in]
    if timed:
        with progress.stage(
            f"grading {_counted(len(timed), 'timed trial')}, one at a time", total=len(timed)
        ) as advance:
            alone = _Pool(home, 1, (), retries or Retries(), Spending(Allowance(), ()))
            alone.work(timed, trial.grade_timed, lambda: advance(1))
    return left


class _Pool:
    """Runs a job on many folders, never using more cores and devices than there are.

    A process that dies, and a trial that fails through no fault of its agent, is tried again after a pause. A trial
    that another run is at, or that a killed one is just leaving, is tried again until it is free.
    """

    def __init__(self, home: Home, cores: int, gpus: tuple[int, ...], retries: Retries, spending: Spending) -> None:
        self._home, self._cores, self._retries, self._spending = home, cores, retries, spending
        self._free = sorted(gpus)
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["assay.runs.trial"])
        self._running: dict[ForkServerProcess, tuple[TrialFolder, tuple[int, ...]]] = {}
        self._failures = Counter[Path]()

    def work(self, folders: Sequence[TrialFolder], job: Job, ended: Callable[[], None]) -> Unstarted | None:
        """Run the job on every folder, or on as many as the allowance lasts for."""
        waiting, later = list(folders), list[tuple[float, TrialFolder]]()
        spent: str | None = None
        with _StopSignals() as stop:
            while (waiting or later or self._running) and not stop.asked:
                waiting = [folder for due, folder in later if due <= time.monotonic()] + waiting
                later = [(due, folder) for due, folder in later if due > time.monotonic()]
                while waiting and self._fits(waiting[0]) and not (spent := self._spending.spent()):
                    self._start(job, waiting.pop(0))
                if spent and not self._running:
                    break
                self._pause(later)
                for folder, pause in self._ended():
                    if pause is None:
                        ended()
                    else:
                        later.append((time.monotonic() + pause, folder))
            if stop.asked:
                _stop_all(list(self._running))
                raise Stopped
        return Unstarted(len(waiting) + len(later), spent) if spent and (waiting or later) else None

    def _fits(self, folder: TrialFolder) -> bool:
        need = folder.file.resources
        used = sum(other.file.resources.cores for other, _ in self._running.values())
        return not self._running or (used + need.cores <= self._cores and need.gpus <= len(self._free))

    def _start(self, job: Job, folder: TrialFolder) -> None:
        need = folder.file.resources.gpus
        devices, self._free = tuple(self._free[:need]), self._free[need:]
        process = self._context.Process(
            target=_child, args=(job, folder.path, self._home.root, devices), name=folder.path.name
        )
        process.start()
        self._running[process] = (folder, devices)

    def _pause(self, later: Sequence[tuple[float, TrialFolder]]) -> None:
        """Wait until a process ends or a trial is due, but never so long that a request to stop goes unheard."""
        if self._running:
            wait([process.sentinel for process in self._running], timeout=TICK)
        elif later:
            time.sleep(min(TICK, max(0.0, min(due for due, _ in later) - time.monotonic())))

    def _ended(self) -> Iterator[tuple[TrialFolder, float | None]]:
        """Each folder whose process has ended, and in how many seconds it is to be tried again, if at all."""
        for process in [process for process in self._running if not process.is_alive()]:
            process.join()
            folder, devices = self._running.pop(process)
            self._free = sorted([*self._free, *devices])
            yield folder, self._again(folder, process.exitcode)

    def _again(self, folder: TrialFolder, code: int | None) -> float | None:
        if code == TAKEN:
            return TICK
        state = folder.state
        if state.final or (code == 0 and state.cause != "infrastructure"):
            return None
        self._failures[folder.path] += 1
        pause = self._retries.pause(state, self._failures[folder.path])
        if pause is None and code != 0:
            _give_up(folder, code, self._failures[folder.path])
        return pause


def _check_gpus(folders: Iterable[TrialFolder], there: int) -> None:
    for folder in folders:
        if folder.file.resources.gpus > there:
            needed = _counted(folder.file.resources.gpus, "GPU")
            raise AssayError(f"{folder.path.name} needs {needed}, and this machine has {there}; see: assay lab doctor")


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _give_up(folder: TrialFolder, code: int | None, times: int) -> None:
    """Say in its state that a trial's process died too often."""
    why = f"its process ended with code {code}, {times} times over"
    state = folder.state.model_dump() | {"status": "failed", "cause": "infrastructure", "why": why}
    folder.write_state(State.model_validate(state))


def _child(job: Job, path: Path, home: Path, gpus: tuple[int, ...]) -> None:
    """The trial's process: it ends when the run that started it is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None
    threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()
    try:
        job(path, Home(home), gpus)
    except trial.Taken:
        sys.exit(TAKEN)


def _end_with(sentinel: int) -> None:
    """Ask this process to stop once the run is gone, and end it if it does not."""
    wait([sentinel])
    os.kill(os.getpid(), signal.SIGTERM)
    threading.Event().wait(GRACE)
    os.kill(os.getpid(), signal.SIGKILL)


def _stop_all(processes: Sequence[ForkServerProcess]) -> None:
    for process in processes:
        process.terminate()
    for process in processes:
        process.join(GRACE)
        if process.is_alive():
            process.kill()
            process.join()


class _StopSignals:
    """Turns the first SIGINT or SIGTERM into a request to stop; a second one interrupts at once."""

    def __enter__(self) -> "_StopSignals":
        self.asked = False
        self._before = {number: signal.signal(number, self._ask) for number in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
