"""Run trials on this machine: one process per trial, as many at once as the cores and GPUs allow."""

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
from typing import TYPE_CHECKING, Self

from assay.core.errors import AssayError, RecordError
from assay.core.home import Home
from assay.core.own_path import own_path
from assay.core.text import plural
from assay.lab.host.gpus import gpu_numbers
from assay.models.client import modules_to_preload
from assay.records import RunFolder, TrialFile, TrialFolder
from assay.records.lease import LEASE_TIMEOUT, Claim, LeaseWatch
from assay.runs.driver import Files
from assay.runs.job import GRACE, TAKEN, UNRECORDED, JobKind, Taken
from assay.runs.retry import Retries

if TYPE_CHECKING:
    from assay.runs.executors.config import ExecutorConfig


@dataclass(frozen=True)
class _RunningTrial:
    """A trial that has a process, the GPUs assigned to it, and when it was started."""

    folder: TrialFolder
    file: TrialFile
    devices: tuple[int, ...]
    began: float


class LocalExecutor:
    """Runs trials on this machine, within its cores and GPUs."""

    def __init__(
        self,
        home: Home,
        *,
        cores: int | None = None,
        gpus: Sequence[int] | None = None,
        lapse: float = LEASE_TIMEOUT,
        overdue: float = Retries().overdue,
    ) -> None:
        self._home, self._overdue = home, overdue
        self._cores = cores or len(os.sched_getaffinity(0))
        self._free = sorted(gpu_numbers() if gpus is None else gpus)
        self._context = multiprocessing.get_context("forkserver")
        self._running: dict[ForkServerProcess, _RunningTrial] = {}
        self._watch, self._taken = LeaseWatch(lapse), set[Path]()

    @classmethod
    def from_config(
        cls, config: "ExecutorConfig", run: RunFolder, home: Home, *, cores: int | None, retries: Retries
    ) -> Self:
        """Create the executor that a configuration describes."""
        return cls(home, cores=cores, lapse=config.lease, overdue=retries.overdue)

    @property
    def description(self) -> str:
        """The number of cores."""
        return plural(self._cores, "core")

    def begin(self, files: Files, *, at_terminal: bool) -> None:
        """Check that there are enough GPUs, and preload what every trial imports."""
        if at_terminal:
            self._cores = 1  # a person works on one trial at a time
        for folder, file in files.items():
            if file.resources.gpus > len(self._free):
                needed, available = plural(file.resources.gpus, "GPU"), len(self._free)
                raise AssayError(
                    f"{folder.path.name} needs {needed}, but this machine has {available}; see: assay doctor"
                )
        # Loaded in the fork server, which the processes of all trials are forked from.
        models = {name for file in files.values() for name in file.models.values()}
        self._context.set_forkserver_preload([*modules_to_preload(models), __name__, "assay.runs.preload"])

    def has_room(self, file: TrialFile, work: JobKind) -> bool:
        """Whether enough cores and GPUs are free; grading of timed trials runs alone."""
        if not self._running or work == "grade":
            return not self._running
        used = sum(other.file.resources.cores for other in self._running.values())
        return used + file.resources.cores <= self._cores and file.resources.gpus <= len(self._free)

    def start(self, folder: TrialFolder, file: TrialFile, work: JobKind) -> None:
        """Start the trial's process, which takes over a lease that has expired."""
        need = file.resources.gpus if work == "run" else 0
        devices, self._free = tuple(self._free[:need]), self._free[need:]
        expired = self._watch.expired(folder.path) if folder.path in self._taken else None
        process = self._context.Process(
            target=_child, args=(work, folder.path, self._home.root, devices, expired), name=folder.path.name
        )
        with _without_main(), own_path():
            process.start()
        self._running[process] = _RunningTrial(folder, file, devices, time.monotonic())

    def wait(self, seconds: float) -> None:
        """Wait until a process ends, and kill those that hang."""
        if self._running:
            wait([process.sentinel for process in self._running], timeout=seconds)
        else:
            time.sleep(seconds)
        for process, trial in self._running.items():
            late = time.monotonic() - trial.began > trial.file.budget.time + self._overdue
            if late and not _has_submitted(trial.folder):
                process.kill()

    def ended(self) -> Iterator[tuple[TrialFolder, int | None]]:
        """Yield the trials whose processes have ended."""
        for process in [process for process in self._running if not process.is_alive()]:
            process.join()
            trial = self._running.pop(process)
            self._free = sorted([*self._free, *trial.devices])
            if process.exitcode == TAKEN:
                self._taken.add(trial.folder.path)
            yield trial.folder, process.exitcode

    def withdraw(self) -> Iterable[TrialFolder]:
        """Return nothing: trials are never queued here."""
        return ()

    def stop(self) -> None:
        """Ask all processes to stop, and kill those that do not."""
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
    """Hide the main module, which multiprocessing would otherwise import again in every process."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _has_submitted(folder: TrialFolder) -> bool:
    try:
        return folder.submission_entry is not None
    except (OSError, RecordError):
        return False


def _child(work: JobKind, path: Path, home: Path, gpus: tuple[int, ...], expired: Claim | None) -> None:
    """Run a job in the trial's own process, which ends when the process that started it does."""
    from assay.runs.trial import JOB_KINDS  # preloaded here, and never needed in the process of the run

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None
    threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()
    try:
        JOB_KINDS[work](path, Home(home), gpus, expired=expired)
    except Taken:
        sys.exit(TAKEN)
    except (AssayError, OSError):
        # Failures of the trial are in its record by now; this is a failure to write the record.
        sys.exit(UNRECORDED)


def _end_with(sentinel: int) -> None:
    """Terminate this process when the run that started it is gone, and kill it if that does not help."""
    wait([sentinel])
    os.kill(os.getpid(), signal.SIGTERM)
    threading.Event().wait(GRACE)
    os.kill(os.getpid(), signal.SIGKILL)
