"""What Slurm and Ray have in common: trials are handed to an engine that decides when and where they start.

The engine is never asked what came of a trial: that is in the trial's folder, which all machines share. It only tells
which trials it still has. So a run can be left and taken up again: what is still with the engine is waited for.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.core.errors import AssayError, RecordError, UsageError
from assay.core.home import Home
from assay.records import TrialFile, TrialFolder
from assay.records.lease import LAPSE, Watch, is_held
from assay.runs.driver import Files
from assay.runs.retry import Retries
from assay.runs.worker import TAKEN, JobKind, JobSpec

HARNESS_MEMORY = 10**9
"""What a trial's own process needs beside its lab."""
STOPPING = 90.0


@dataclass(frozen=True)
class Job:
    """Something to be done with a trial, for the engine."""

    folder: TrialFolder
    file: TrialFile
    order: JobSpec

    @property
    def alone(self) -> bool:
        """Whether nothing else may run on its machine meanwhile."""
        return self.order.work == "grade"

    @property
    def memory(self) -> int:
        """How many bytes it needs."""
        return self.file.resources.memory + HARNESS_MEMORY


class Cluster(ABC):
    """Machines that share a folder, and an engine that starts processes on them. Subclasses know one engine."""

    patience: float
    """Seconds between two questions to the engine."""

    def __init__(
        self, home: Home, *, source: Path | None = None, lapse: float = LAPSE, overdue: float = Retries().overdue
    ) -> None:
        self._home, self._source, self._lapse, self._overdue = home, source, lapse, overdue
        self._watch = Watch(lapse)
        self._new: list[Job] = []
        self._going: dict[TrialFolder, str] = {}
        self._over: list[tuple[TrialFolder, int | None]] = []
        self._asked = float("-inf")

    @property
    @abstractmethod
    def place(self) -> str:
        """Which engine it is."""

    @abstractmethod
    def submit(self, errands: Sequence[Job]) -> Sequence[str]:
        """Hand errands to the engine; what it calls each of them, in order."""

    @abstractmethod
    def present(self, names: Iterable[str]) -> set[str] | None:
        """Those of its errands that the engine still has; None while it does not answer."""

    @abstractmethod
    def begun(self, errands: Mapping[TrialFolder, str]) -> set[TrialFolder]:
        """Those that have a process by now."""

    @abstractmethod
    def cancel(self, errands: Mapping[TrialFolder, str]) -> None:
        """Have the engine end errands: trials that run are asked to stop, the others never start."""

    def begin(self, files: Files, *, at_terminal: bool) -> None:
        """Find the errands that an earlier driver left with the engine."""
        if at_terminal:
            raise UsageError(f"a person works at this terminal, not on {self.place}; leave out --on")
        left = {folder: name for folder in files if (name := _name_of(folder))}
        there = self.present(left.values()) if left else set()
        if there is None:
            raise AssayError(f"{self.place} does not answer, and it may still have trials of this run; try again later")
        self._going = {folder: name for folder, name in left.items() if name in there}

    def has_room(self, file: TrialFile, work: JobKind) -> bool:
        """Always, because the engine queues; what is graded by time goes one after the other."""
        return work == "conduct" or not (self._new or self._going)

    def start(self, folder: TrialFolder, file: TrialFile, work: JobKind) -> None:
        """Hand a trial to the engine with the next ones, unless it has it already, or somebody else is at it."""
        if folder in self._going:
            return
        if folder.state.final:
            self._over.append((folder, 0))
            return
        expired = self._watch.expired(folder.path)
        if is_held(folder.path) is not False and expired is None:
            self._over.append((folder, TAKEN))
            return
        order = JobSpec(
            work=work,
            trial=folder.path.absolute(),
            home=self._home.root,
            source=self._source,
            lapse=self._lapse,
            overdue=self._overdue,
            expired=(expired.epoch, expired.text) if expired else None,
            folder=Path.cwd(),
        )
        self._new.append(Job(folder, file, order))

    def wait(self, seconds: float) -> None:
        """Hand over what was collected, and let some time pass."""
        if self._new:
            for errand, name in zip(self._new, self.submit(self._new), strict=True):
                self._going[errand.folder] = name
            self._new = []
        time.sleep(seconds)

    def ended(self) -> Iterator[tuple[TrialFolder, int | None]]:
        """The trials that are over or that the engine no longer has; whether they ended well is in their folders."""
        while self._over:
            yield self._over.pop()
        if not self._going or time.monotonic() - self._asked < self.patience:
            return
        self._asked = time.monotonic()
        there = self.present(self._going.values())
        if there is None:
            return
        over = {folder: name for folder, name in self._going.items() if name not in there or _is_over(folder)}
        # An engine that has lost sight of a machine may have queued again what was finished there.
        self.cancel({folder: name for folder, name in over.items() if name in there})
        for folder in over:
            self._forget(folder)
            yield folder, 0 if _ended_in_order(folder) else None

    def withdraw(self) -> Iterator[TrialFolder]:
        """Take back what still waits in the engine's queue."""
        begun = self.begun(self._going)
        queued = {folder: name for folder, name in self._going.items() if folder not in begun}
        self.cancel(queued)
        for folder in queued:
            self._forget(folder)
            yield folder
        yield from (errand.folder for errand in self._new)
        self._new = []

    def stop(self) -> None:
        """Have the engine end everything, and wait until it has."""
        self.cancel(self._going)
        deadline = time.monotonic() + STOPPING
        while time.monotonic() < deadline and self.present(self._going.values()) != set():
            time.sleep(min(1.0, self.patience))

    def _forget(self, folder: TrialFolder) -> None:
        del self._going[folder]
        (folder.path / "job").unlink(missing_ok=True)


def _name_of(folder: TrialFolder) -> str | None:
    """What an engine called the trial's errand when it was handed over."""
    try:
        return (folder.path / "job").read_text().strip() or None
    except FileNotFoundError:
        return None


def _is_over(folder: TrialFolder) -> bool:
    try:
        return folder.state.final
    except (OSError, RecordError):
        return False


def _ended_in_order(folder: TrialFolder) -> bool:
    """Whether a trial's process ended as it should, as far as its record tells."""
    try:
        state = folder.state
        return state.final or state.cause is not None or state.status == "submitted"
    except (OSError, RecordError):
        return False
