"""Many trials on this machine: each a process of its own, as many at once as there are cores."""

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import wait
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from types import ModuleType

from assay.core.errors import AssayError, RecordError
from assay.core.home import Home
from assay.lab.host.gpus import gpu_numbers
from assay.records import TrialFile, TrialFolder
from assay.records.lease import LAPSE, Claim, Watch
from assay.runs.driver import Files, counted
from assay.runs.retry import Retries
from assay.runs.trial import Taken
from assay.runs.worker import GRACE, JOB_KINDS, TAKEN, UNRECORDED, JobKind


@dataclass(frozen=True)
class _Going:
    """A trial that has a process: the devices it was given, and when it was started."""

    folder: TrialFolder
    file: TrialFile
    devices: tuple[int, ...]
    began: float


class Local:
    """This machine: never more cores and devices are used than there are."""

    def __init__(
        self,
        home: Home,
        *,
        cores: int | None = None,
        gpus: Sequence[int] | None = None,
        lapse: float = LAPSE,
        overdue: float = Retries().overdue,
    ) -> None:
        self._home, self._overdue = home, overdue
        self._cores = cores or len(os.sched_getaffinity(0))
        self._free = sorted(gpu_numbers() if gpus is None else gpus)
        self._context = multiprocessing.get_context("forkserver")
        self._running: dict[ForkServerProcess, _Going] = {}
        self._watch, self._taken = Watch(lapse), set[Path]()

    @property
    def place(self) -> str:
        """How many cores there are."""
        return counted(self._cores, "core")

    def begin(self, files: Files, *, at_terminal: bool) -> None:
        """See whether there are enough devices, and load what every trial needs once."""
        if at_terminal:
            self._cores = 1  # a person does one trial at a time
        for folder, file in files.items():
            if file.resources.gpus > len(self._free):
                needed, there = counted(file.resources.gpus, "GPU"), len(self._free)
                raise AssayError(
                    f"{folder.path.name} needs {needed}, and this machine has {there}; see: assay lab doctor"
                )
        # In the process that all trials' processes are forked from.
        models = ["assay.models.preload"] if any(file.models for file in files.values()) else []
        self._context.set_forkserver_preload([*models, __name__, "assay.runs.preload"])

    def has_room(self, file: TrialFile, work: JobKind) -> bool:
        """Whether enough is free; what is graded by time is alone."""
        if not self._running or work == "grade":
            return not self._running
        used = sum(other.file.resources.cores for other in self._running.values())
        return used + file.resources.cores <= self._cores and file.resources.gpus <= len(self._free)

    def start(self, folder: TrialFolder, file: TrialFile, work: JobKind) -> None:
        """Start the trial's process; it takes over from a holder elsewhere that has long been expired."""
        need = file.resources.gpus if work == "conduct" else 0
        devices, self._free = tuple(self._free[:need]), self._free[need:]
        expired = self._watch.expired(folder.path) if folder.path in self._taken else None
        process = self._context.Process(
            target=_child, args=(work, folder.path, self._home.root, devices, expired), name=folder.path.name
        )
        with _without_main():
            process.start()
        self._running[process] = _Going(folder, file, devices, time.monotonic())

    def wait(self, seconds: float) -> None:
        """Wait until a process ends, and end those that hang."""
        if self._running:
            wait([process.sentinel for process in self._running], timeout=seconds)
        else:
            time.sleep(seconds)
        for process, going in self._running.items():
            late = time.monotonic() - going.began > going.file.budget.time + self._overdue
            if late and not _has_handed_in(going.folder):
                process.kill()

    def ended(self) -> Iterator[tuple[TrialFolder, int | None]]:
        """The trials whose processes have ended."""
        for process in [process for process in self._running if not process.is_alive()]:
            process.join()
            going = self._running.pop(process)
            self._free = sorted([*self._free, *going.devices])
            if process.exitcode == TAKEN:
                self._taken.add(going.folder.path)
            yield going.folder, process.exitcode

    def withdraw(self) -> Iterable[TrialFolder]:
        """Nothing: what is started here begins at once."""
        return ()

    def stop(self) -> None:
        """Ask all processes to stop, and end those that do not."""
        for process in self._running:
            process.terminate()
        deadline = time.monotonic() + GRACE
        for process in self._running:
            process.join(max(0.0, deadline - time.monotonic()))
            if process.is_alive():
                process.kill()
                process.join()


@contextmanager
def _without_main() -> Iterator[None]:
    """Hide the script that was called: it would be run again in each process that is started, for nothing."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _has_handed_in(folder: TrialFolder) -> bool:
    try:
        return folder.submission_entry is not None
    except (OSError, RecordError):
        return False


def _child(work: JobKind, path: Path, home: Path, gpus: tuple[int, ...], expired: Claim | None) -> None:
    """The trial's process: it ends when the run that started it is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None
    threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()
    try:
        JOB_KINDS[work](path, Home(home), gpus, expired=expired)
    except Taken:
        sys.exit(TAKEN)
    except (AssayError, OSError):
        # What is wrong with the trial is in its record by now; this is what is wrong with the record.
        sys.exit(UNRECORDED)


def _end_with(sentinel: int) -> None:
    """Ask this process to stop once the run is gone, and end it if it does not."""
    wait([sentinel])
    os.kill(os.getpid(), signal.SIGTERM)
    threading.Event().wait(GRACE)
    os.kill(os.getpid(), signal.SIGKILL)
