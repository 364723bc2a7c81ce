"""What Slurm and Ray have in common: jobs are submitted to a scheduler that decides when and where they start.

The scheduler only reports which jobs it still has. The outcome of a trial is in its folder, which all machines share,
so a driver can die and another one resume the run: it waits for the jobs that the scheduler still has.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.core.errors import AssayError, RecordError, UsageError
from assay.core.home import Home
from assay.records import TrialFile, TrialFolder
from assay.records.lease import LEASE_TIMEOUT, LeaseWatch, is_held
from assay.runs.driver import Files
from assay.runs.job import TAKEN, JobKind, JobSpec
from assay.runs.retry import Retries

HARNESS_MEMORY = 10**9
"""Bytes that a trial's own process needs in addition to its lab."""
STOPPING = 90.0


@dataclass(frozen=True)
class Job:
    """A job for the scheduler: what to do with one trial."""

    folder: TrialFolder
    file: TrialFile
    spec: JobSpec

    @property
    def exclusive(self) -> bool:
        """Whether nothing else may run on its machine: the grade depends on the time it takes."""
        return self.spec.kind == "grade"

    @property
    def memory(self) -> int:
        """The bytes of memory it needs."""
        return self.file.resources.memory + HARNESS_MEMORY


class Cluster(ABC):
    """Machines that share a folder, and a scheduler that starts processes on them; a subclass per scheduler."""

    poll_seconds: float
    """Seconds between two queries of the scheduler."""

    def __init__(
        self,
        home: Home,
        *,
        source: Path | None = None,
        lapse: float = LEASE_TIMEOUT,
        overdue: float = Retries().overdue,
    ) -> None:
        self._home, self._source, self._lapse, self._overdue = home, source, lapse, overdue
        self._watch = LeaseWatch(lapse)
        self._new: list[Job] = []
        self._submitted: dict[TrialFolder, str] = {}
        self._over: list[tuple[TrialFolder, int | None]] = []
        self._polled_at = float("-inf")

    @property
    @abstractmethod
    def description(self) -> str:
        """Which scheduler it is."""

    @abstractmethod
    def submit(self, jobs: Sequence[Job]) -> Sequence[str]:
        """Submit jobs, and return their ids in order."""

    @abstractmethod
    def find_alive(self, ids: Iterable[str]) -> set[str] | None:
        """Return the ids of the jobs that the scheduler still has, or None while it does not answer."""

    @abstractmethod
    def find_running(self, jobs: Mapping[TrialFolder, str]) -> set[TrialFolder]:
        """Return the trials whose jobs have started."""

    @abstractmethod
    def cancel(self, jobs: Mapping[TrialFolder, str]) -> None:
        """Cancel jobs: running trials are asked to stop, queued ones never start."""

    def begin(self, files: Files, *, at_terminal: bool) -> None:
        """Find the jobs that an earlier driver submitted."""
        if at_terminal:
            raise UsageError(f"a person works at this terminal, not on {self.description}; leave out --on")
        left = {folder: id for folder in files if (id := _read_job_id(folder))}
        alive = self.find_alive(left.values()) if left else set()
        if alive is None:
            raise AssayError(
                f"{self.description} does not answer, and may still have jobs of this run; try again later"
            )
        self._submitted = {folder: id for folder, id in left.items() if id in alive}

    def has_room(self, file: TrialFile, work: JobKind) -> bool:
        """Always, because the scheduler queues; timed trials are graded one at a time."""
        return work == "run" or not (self._new or self._submitted)

    def start(self, folder: TrialFolder, file: TrialFile, work: JobKind) -> None:
        """Collect a job for the next submission, unless the scheduler has it or another process holds the trial."""
        if folder in self._submitted:
            return
        if folder.state.final:
            self._over.append((folder, 0))
            return
        expired = self._watch.expired(folder.path)
        if is_held(folder.path) is not False and expired is None:
            self._over.append((folder, TAKEN))
            return
        spec = JobSpec(
            kind=work,
            trial=folder.path.absolute(),
            home=self._home.root,
            source=self._source,
            lapse=self._lapse,
            overdue=self._overdue,
            expired=(expired.epoch, expired.text) if expired else None,
            folder=Path.cwd(),
        )
        self._new.append(Job(folder, file, spec))

    def wait(self, seconds: float) -> None:
        """Submit the collected jobs, then sleep."""
        if self._new:
            for job, id in zip(self._new, self.submit(self._new), strict=True):
                self._submitted[job.folder] = id
            self._new = []
        time.sleep(seconds)

    def ended(self) -> Iterator[tuple[TrialFolder, int | None]]:
        """Yield the trials that are finished or that the scheduler no longer has."""
        while self._over:
            yield self._over.pop()
        if not self._submitted or time.monotonic() - self._polled_at < self.poll_seconds:
            return
        self._polled_at = time.monotonic()
        alive = self.find_alive(self._submitted.values())
        if alive is None:
            return
        over = {folder: id for folder, id in self._submitted.items() if id not in alive or _is_final(folder)}
        # A scheduler that lost contact with a machine may have requeued a job that was finished there.
        self.cancel({folder: id for folder, id in over.items() if id in alive})
        for folder in over:
            self._forget(folder)
            yield folder, 0 if _ended_normally(folder) else None

    def withdraw(self) -> Iterator[TrialFolder]:
        """Cancel the jobs that are still queued, and yield their trials."""
        running = self.find_running(self._submitted)
        queued = {folder: id for folder, id in self._submitted.items() if folder not in running}
        self.cancel(queued)
        for folder in queued:
            self._forget(folder)
            yield folder
        yield from (job.folder for job in self._new)
        self._new = []

    def stop(self) -> None:
        """Cancel all jobs, and wait until they have ended."""
        self.cancel(self._submitted)
        deadline = time.monotonic() + STOPPING
        while time.monotonic() < deadline and self.find_alive(self._submitted.values()) != set():
            time.sleep(min(1.0, self.poll_seconds))

    def _forget(self, folder: TrialFolder) -> None:
        del self._submitted[folder]
        (folder.path / "job").unlink(missing_ok=True)


def _read_job_id(folder: TrialFolder) -> str | None:
    """Return the id of the job that was submitted for the trial."""
    try:
        return (folder.path / "job").read_text().strip() or None
    except FileNotFoundError:
        return None


def _is_final(folder: TrialFolder) -> bool:
    try:
        return folder.state.final
    except (OSError, RecordError):
        return False


def _ended_normally(folder: TrialFolder) -> bool:
    """Whether the trial's process ended normally, according to its record."""
    try:
        state = folder.state
        return state.final or state.cause is not None or state.status == "submitted"
    except (OSError, RecordError):
        return False
