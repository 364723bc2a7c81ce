"""Many trials on this machine: each a process of its own, as many at once as there are cores."""

import multiprocessing
import os
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from multiprocessing.connection import wait
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from types import FrameType

from assay.home import Home
from assay.progress import Progress
from assay.records import RunFolder, State, TrialFolder
from assay.runs import trial

ATTEMPTS = 3
GRACE = 20.0
TICK = 0.5
TAKEN = 75

Job = Callable[[Path, Home], None]


class Stopped(KeyboardInterrupt):
    """The user asked the run to stop; what is finished is kept."""


def execute(
    run: RunFolder, home: Home, *, cores: int | None = None, only: str | None = None, progress: Progress
) -> None:
    """Bring every trial of a run to its end, or `only` one; calling it again does only what is missing."""
    available = cores or len(os.sched_getaffinity(0))
    wanted = (folder for folder in run.trials() if only in (None, folder.path.name))
    unfinished = [folder for folder in wanted if not folder.state.final]
    if not unfinished:
        return
    with progress.stage(
        f"{_counted(len(unfinished), 'trial')} on {_counted(available, 'core')}", total=len(unfinished)
    ) as advance:
        _pool(unfinished, home, trial.conduct, available, lambda: advance(1))
    timed = [folder for folder in unfinished if not folder.state.final and folder.handed_in]
    if timed:
        with progress.stage(
            f"grading {_counted(len(timed), 'timed trial')}, one at a time", total=len(timed)
        ) as advance:
            _pool(timed, home, trial.grade_timed, 1, lambda: advance(1))


def _pool(folders: Sequence[TrialFolder], home: Home, job: Job, cores: int, ended: Callable[[], None]) -> None:
    """Run `job` on every folder, never using more cores than there are.

    A process that dies is started again; a trial that another run is at, or that a killed one is just leaving, is tried
    again until it is free.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["assay.runs.trial"])
    waiting, taken = list(folders), list[TrialFolder]()
    running: dict[ForkServerProcess, tuple[TrialFolder, int]] = {}
    deaths = Counter[Path]()
    with _StopSignals() as stop:
        while (waiting or running or taken) and not stop.asked:
            used = sum(need for _, need in running.values())
            while waiting and (not running or used + _cores(waiting[0]) <= cores):
                folder = waiting.pop(0)
                process = context.Process(target=_child, args=(job, folder.path, home.root), name=folder.path.name)
                process.start()
                running[process] = (folder, _cores(folder))
                used += _cores(folder)
            wait([process.sentinel for process in running], timeout=TICK)
            waiting, taken = waiting + taken, []
            for process in [process for process in running if not process.is_alive()]:
                process.join()
                folder, _ = running.pop(process)
                if process.exitcode == TAKEN:
                    taken.append(folder)
                elif process.exitcode != 0 and not folder.state.final:
                    deaths[folder.path] += 1
                    if deaths[folder.path] < ATTEMPTS:
                        waiting.insert(0, folder)
                    else:
                        _give_up(folder, process.exitcode)
                        ended()
                else:
                    ended()
        if stop.asked:
            _stop_all(list(running))
            raise Stopped


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _cores(folder: TrialFolder) -> int:
    return folder.file.resources.cores


def _give_up(folder: TrialFolder, code: int | None) -> None:
    """Say in its state that a trial's process died too often."""
    why = f"its process ended with code {code}, {ATTEMPTS} times over"
    state = folder.state.model_dump() | {"status": "failed", "cause": "infrastructure", "why": why}
    folder.write_state(State.model_validate(state))


def _child(job: Job, path: Path, home: Path) -> None:
    """The trial's process: it ends when the run that started it is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None
    threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()
    try:
        job(path, Home(home))
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
