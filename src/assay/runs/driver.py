"""Many trials, wherever they run: started when there is room, tried again when they fail through no fault of theirs."""

import signal
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Protocol

from assay.agents.agent import agent_class
from assay.core.errors import AssayError, RecordError
from assay.core.progress import NoProgress, Progress
from assay.records import RunFolder, State, TrialFile, TrialFolder
from assay.records.trial import now
from assay.runs.retry import Allowance, Retries, Spending
from assay.runs.worker import TAKEN, TICK, UNRECORDED, JobKind

Files = Mapping[TrialFolder, TrialFile]


class Executor(Protocol):
    """Where trials' processes run: this machine, or a cluster."""

    @property
    def place(self) -> str:
        """Where that is, for people."""
        ...

    def begin(self, files: Files, *, at_terminal: bool) -> None:
        """Get ready for these trials; an error if they cannot run here. A person may be needed at the terminal."""
        ...

    def has_room(self, file: TrialFile, work: JobKind) -> bool:
        """Whether one more can be started now."""
        ...

    def start(self, folder: TrialFolder, file: TrialFile, work: JobKind) -> None:
        """Start a trial's process, or have it start as soon as it can."""
        ...

    def wait(self, seconds: float) -> None:
        """Wait until something may have ended, and no longer than that."""
        ...

    def ended(self) -> Iterable[tuple[TrialFolder, int | None]]:
        """What has ended since the last call, with its exit code."""
        ...

    def withdraw(self) -> Iterable[TrialFolder]:
        """Take back what was started and has not really begun yet."""
        ...

    def stop(self) -> None:
        """Tell all that is going on to stop, and wait until it has."""
        ...


class Stopped(KeyboardInterrupt):
    """The user asked the run to stop; what is finished is kept."""


@dataclass(frozen=True)
class Unstarted:
    """How many trials were left waiting because the run's own allowance is spent, and which part of it."""

    trials: int
    why: str


def execute_run(
    run: RunFolder,
    executor: Executor,
    *,
    only: str | None = None,
    progress: Progress,
    retries: Retries | None = None,
    allowance: Allowance | None = None,
) -> Unstarted | None:
    """Bring every trial of a run to its end, or `only` one; calling it again does only what is missing.

    What the machine or a provider fails is tried again; once the allowance is spent, no more trials are begun.
    """
    wanted = (folder for folder in run.trials() if only in (None, folder.path.name))
    unfinished = {folder: folder.file for folder in wanted if not folder.state.final}
    if not unfinished:
        return None
    at_terminal = any(agent_class(name).at_terminal for name in {file.agent for file in unfinished.values()})
    if at_terminal:
        progress = NoProgress()  # nobody else may write on a person's terminal
    executor.begin(unfinished, at_terminal=at_terminal)
    driver = _Driver(executor, retries or Retries(), Spending(allowance or Allowance(), run.trials()))
    with progress.stage(f"{counted(len(unfinished), 'trial')} on {executor.place}", len(unfinished)) as advance:
        left = driver.drive(unfinished, "conduct", lambda: advance(1))
    _check_recorded(run, driver.unrecorded)
    timed = {folder: file for folder, file in unfinished.items() if not folder.state.final and folder.submission_entry}
    if timed:
        alone = _Driver(executor, retries or Retries(), Spending(Allowance(), ()))
        with progress.stage(f"grading {counted(len(timed), 'timed trial')}, one at a time", len(timed)) as advance:
            alone.drive(timed, "grade", lambda: advance(1))
        _check_recorded(run, alone.unrecorded)
    return left


class _Driver:
    """Has an executor do some work on many trials.

    A process that dies, and a trial that fails through no fault of its agent, is tried again after a pause. A trial
    that another run is at, or that a killed one is just leaving, is tried again until it is free.
    """

    def __init__(self, executor: Executor, retries: Retries, spending: Spending) -> None:
        self._executor, self._retries, self._spending = executor, retries, spending
        self._failures = Counter[Path]()
        self.unrecorded: dict[TrialFolder, Exception] = {}

    def drive(self, files: Files, work: JobKind, ended: Callable[[], None]) -> Unstarted | None:
        """Have it done on all trials, or on as many as the allowance lasts for."""
        executor, going = self._executor, set[TrialFolder]()
        waiting, later = list(files), list[tuple[float, TrialFolder]]()
        spent: str | None = None
        with _StopSignals() as stop:
            while (waiting or later or going) and not stop.asked:
                waiting = [folder for due, folder in later if due <= time.monotonic()] + waiting
                later = [(due, folder) for due, folder in later if due > time.monotonic()]
                spent = self._spending.spent()
                if spent:
                    taken_back = list(executor.withdraw())
                    waiting, going = taken_back + waiting, going - set(taken_back)
                while waiting and not spent and executor.has_room(files[waiting[0]], work):
                    folder = waiting.pop(0)
                    executor.start(folder, files[folder], work)
                    going.add(folder)
                    spent = self._spending.spent() if waiting else None
                if spent and not going:
                    break
                executor.wait(min([TICK, *(max(0.0, due - time.monotonic()) for due, _ in later)]))
                for folder, code in executor.ended():
                    going.discard(folder)
                    pause = self._again(folder, code)
                    if pause is None:
                        ended()
                    else:
                        later.append((time.monotonic() + pause, folder))
            if stop.asked:
                executor.stop()
                raise Stopped
        return Unstarted(len(waiting) + len(later), spent) if spent and (waiting or later) else None

    def _again(self, folder: TrialFolder, code: int | None) -> float | None:
        """In how many seconds a trial whose process has ended is to be tried again, if at all."""
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


def counted(number: int, noun: str) -> str:
    """So many of something."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _check_recorded(run: RunFolder, unrecorded: Mapping[TrialFolder, Exception]) -> None:
    for error in unrecorded.values():
        records = counted(len(unrecorded), "trial")
        raise AssayError(f"nothing can be recorded of {records} ({error}); mend it, then: assay resume {run.path}")


def _give_up(folder: TrialFolder, code: int | None, times: int) -> None:
    """Say in its record that a trial's process died too often, unless another run is at it by now."""
    what = "its record could not be written" if code == UNRECORDED else f"its process ended with code {code}"
    why = f"{what}, {times} times over"
    with folder.lease() as lease:
        if lease is None:
            return
        folder = TrialFolder(folder.path, lease)
        with folder.log() as log:
            log.append("broke", why=why)
        told = {"status": "failed", "cause": "infrastructure", "why": why, "ended_at": now(), "epoch": lease.epoch}
        folder.write_state(State.model_validate(folder.state.model_dump() | told))


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
