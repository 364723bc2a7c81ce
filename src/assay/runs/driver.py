"""Drive the trials of a run: start each when the executor has room, and retry those that infrastructure failed."""

import signal
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import current_thread, main_thread
from types import FrameType
from typing import Protocol

from assay.agents.agent import agent_class
from assay.core.errors import AssayError, RecordError
from assay.core.progress import NoProgress, Progress
from assay.core.text import plural
from assay.records import RunFolder, State, TrialFile, TrialFolder
from assay.records.events import InfrastructureFailed
from assay.records.state import now
from assay.runs.hashes import check_agent, is_outdated
from assay.runs.job import TAKEN, TICK, UNRECORDED, JobKind
from assay.runs.retry import Allowance, Retries, Spending

PROCESS_DIED = "ProcessDied"
"""The `error_type` of a trial whose process died too often."""

Files = Mapping[TrialFolder, TrialFile]


class Executor(Protocol):
    """Starts trials on this machine or on a cluster."""

    @property
    def description(self) -> str:
        """Where trials run, for messages."""
        ...

    def begin(self, files: Files, *, at_terminal: bool) -> None:
        """Prepare for these trials, or raise if they cannot run here; `at_terminal` if a person takes part."""
        ...

    def has_room(self, file: TrialFile, work: JobKind) -> bool:
        """Whether this trial can be started now."""
        ...

    def start(self, folder: TrialFolder, file: TrialFile, work: JobKind) -> None:
        """Start a trial's process, or queue it."""
        ...

    def wait(self, seconds: float) -> None:
        """Wait until a trial may have ended, at most `seconds`."""
        ...

    def ended(self) -> Iterable[tuple[TrialFolder, int | None]]:
        """Yield the trials whose processes have ended since the last call, with their exit codes."""
        ...

    def withdraw(self) -> Iterable[TrialFolder]:
        """Cancel the trials that are queued but not running, and return them."""
        ...

    def stop(self) -> None:
        """Ask all running trials to stop, and wait until they have."""
        ...


class Stopped(KeyboardInterrupt):
    """The user stopped the run; finished trials are kept."""


@dataclass(frozen=True)
class Unstarted:
    """How many trials were not started because the limits of the run are reached, and which limit."""

    trials: int
    why: str


def execute_run(
    run: RunFolder,
    executor: Executor,
    *,
    only: Collection[str] | None = None,
    progress: Progress,
    retries: Retries | None = None,
    allowance: Allowance | None = None,
    clock: Callable[[], float] = time.monotonic,
    began: Callable[[], None] = lambda: None,
) -> Unstarted | None:
    """Execute all unfinished trials of a run, or `only` those with these ids.

    Trials that fail because of the machine or a provider are retried. Once the allowance is spent, no further trials
    are started. Trials whose agent's code has changed since are left alone; asking for one by its id is an error.
    `began` is called once the executor has accepted the trials.
    """
    selected = (folder for folder in run.trials() if only is None or folder.path.name in only)
    unfinished = {folder: folder.file for folder in selected if not folder.state.final}
    for folder, file in list(unfinished.items()):
        if only is not None:
            check_agent(file)
        elif is_outdated(file):
            del unfinished[folder]
    if not unfinished:
        return None
    at_terminal = any(agent_class(name).at_terminal for name in {file.agent for file in unfinished.values()})
    if at_terminal:
        progress = NoProgress()  # the terminal belongs to the person who takes part
    executor.begin(unfinished, at_terminal=at_terminal)
    began()
    driver = _Driver(executor, retries or Retries(), Spending(allowance or Allowance(), run.trials()), clock)
    with progress.stage(f"{plural(len(unfinished), 'trial')} on {executor.description}", len(unfinished)) as advance:
        left = driver.drive(unfinished, "run", lambda: advance(1))
    _check_recorded(run, driver.unrecorded)
    timed = {folder: file for folder, file in unfinished.items() if not folder.state.final and folder.submission_entry}
    if timed:
        alone = _Driver(executor, retries or Retries(), Spending(Allowance(), ()), clock)
        with progress.stage(f"grading {plural(len(timed), 'timed trial')}, one at a time", len(timed)) as advance:
            alone.drive(timed, "grade", lambda: advance(1))
        _check_recorded(run, alone.unrecorded)
    return left


class _Driver:
    """Runs one kind of job on many trials.

    A trial whose process died, or that failed through no fault of its agent, is retried after a pause. A trial that
    another process holds, or that a killed one is about to release, is retried until it is free.
    """

    def __init__(self, executor: Executor, retries: Retries, spending: Spending, clock: Callable[[], float]) -> None:
        self._executor, self._retries, self._spending, self._clock = executor, retries, spending, clock
        self._failures = Counter[Path]()
        self.unrecorded: dict[TrialFolder, Exception] = {}

    def drive(self, files: Files, work: JobKind, ended: Callable[[], None]) -> Unstarted | None:
        """Run the job on all trials, or on as many as the allowance permits."""
        executor, running = self._executor, set[TrialFolder]()
        waiting, delayed = list(files), list[tuple[float, TrialFolder]]()
        spent: str | None = None
        with _StopSignals() as stop:
            while (waiting or delayed or running) and not stop.requested:
                now = self._clock()  # read once: a trial that falls due between two readings would be lost
                waiting = [folder for due, folder in delayed if due <= now] + waiting
                delayed = [(due, folder) for due, folder in delayed if due > now]
                spent = self._spending.spent()
                if spent:
                    withdrawn = list(executor.withdraw())
                    waiting, running = withdrawn + waiting, running - set(withdrawn)
                while waiting and not spent and executor.has_room(files[waiting[0]], work):
                    folder = waiting.pop(0)
                    executor.start(folder, files[folder], work)
                    running.add(folder)
                    spent = self._spending.spent() if waiting else None
                if spent and not running:
                    break
                now = self._clock()
                executor.wait(min([TICK, *(max(0.0, due - now) for due, _ in delayed)]))
                for folder, code in executor.ended():
                    running.discard(folder)
                    pause = self._retry_pause(folder, code)
                    if pause is None:
                        ended()
                    else:
                        delayed.append((self._clock() + pause, folder))
            if stop.requested:
                executor.stop()
                raise Stopped
        return Unstarted(len(waiting) + len(delayed), spent) if spent and (waiting or delayed) else None

    def _retry_pause(self, folder: TrialFolder, code: int | None) -> float | None:
        """Return the seconds to wait before retrying a trial whose process has ended, or None if it is finished."""
        if code == TAKEN:
            return TICK
        try:
            state = folder.state
        except (OSError, RecordError):
            state = State()
        if state.final or (code == 0 and state.status in ("submitted", "stopped")):
            return None
        self._failures[folder.path] += 1
        pause = self._retries.pause(state, self._failures[folder.path])
        if pause is None and (code != 0 or state.cause != "infrastructure"):
            try:
                _give_up(folder, code, self._failures[folder.path])
            except (OSError, RecordError) as error:
                self.unrecorded[folder] = error
        return pause


def _check_recorded(run: RunFolder, unrecorded: Mapping[TrialFolder, Exception]) -> None:
    for error in unrecorded.values():
        trials = plural(len(unrecorded), "trial")
        raise AssayError(f"cannot write the records of {trials} ({error}); fix this, then run: assay resume {run.path}")


def _give_up(folder: TrialFolder, code: int | None, times: int) -> None:
    """Record that a trial's process died too often, unless another process holds the trial by now."""
    what = "its record could not be written" if code == UNRECORDED else f"its process ended with code {code}"
    why = f"{what}, {plural(times, 'attempt')} made"
    with folder.acquire() as lease:
        if lease is None:
            return
        folder = TrialFolder(folder.path, lease)
        with folder.log() as log:
            log.append(InfrastructureFailed(error_type=PROCESS_DIED, message=why))
        changes = {
            "status": "failed",
            "cause": "infrastructure",
            "error_type": PROCESS_DIED,
            "reason": why,
            "ended_at": now(),
            "epoch": lease.epoch,
        }
        folder.write_state(State.model_validate(folder.state.model_dump() | changes))


class _StopSignals:
    """Turns the first SIGINT or SIGTERM into a request to stop; a second one interrupts at once.

    Only the main thread of a process can do so.
    """

    def __enter__(self) -> "_StopSignals":
        self.requested = False
        numbers = (signal.SIGINT, signal.SIGTERM) if current_thread() is main_thread() else ()
        self._before = {number: signal.signal(number, self._request) for number in numbers}
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _request(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
