"""When a trial that failed because of the infrastructure is retried, and when no more trials are started."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from assay.core.errors import (
    KeyRejected,
    ModelError,
    ModelUnavailable,
    NotPrepared,
    RecordError,
    RequestRejected,
    UsageError,
)
from assay.records import State, TrialFolder
from assay.runs.spent import read_budget_used

# Errors that another attempt cannot fix: the plan, the data or the record must be changed first.
_PERMANENT = {error.__name__ for error in (UsageError, NotPrepared, RecordError, KeyRejected)}
_PROVIDER = {error.__name__ for error in (ModelError, ModelUnavailable, RequestRejected)}
_PROVIDER_WAIT_FACTOR = 8
# With the default waits, a provider may be down for two hours before a trial is given up.
_OUTAGE_ATTEMPTS_FACTOR = 10


@dataclass(frozen=True)
class Retries:
    """How often a trial is attempted, and how long the waits are: each is twice as long as the one before.

    A provider that is down needs longer than a machine that hiccups, and is tried ten times as often. Waiting uses none
    of a trial's budget: its clock runs only while it does. A trial that has not submitted `overdue` seconds after its
    time limit hangs: its process is killed, which counts as a failure.
    """

    attempts: int = 3
    wait: float = 2.0
    max_wait: float = 300.0
    overdue: float = 1800.0

    def pause(self, state: State, failures: int) -> float | None:
        """Return the seconds until the next attempt after so many failures; None if there is no further attempt."""
        error = state.error_type if state.cause == "infrastructure" else None
        attempts = self.attempts * (_OUTAGE_ATTEMPTS_FACTOR if error == ModelUnavailable.__name__ else 1)
        if failures >= attempts or error in _PERMANENT:
            return None
        factor = _PROVIDER_WAIT_FACTOR if error in _PROVIDER else 1
        return min(self.max_wait, self.wait * factor * 2.0 ** (failures - 1))


@dataclass(frozen=True)
class Allowance:
    """What a whole run may use before no more trials are started: seconds from now, dollars of all its trials."""

    time: float | None = None
    cost: float | None = None


class Spending:
    """Tracks what a run has used of its allowance."""

    def __init__(
        self, allowance: Allowance, trials: Iterable[TrialFolder], now: Callable[[], float] = time.monotonic
    ) -> None:
        self._allowance, self._now, self._began = allowance, now, now()
        self._trials = list(trials) if allowance.cost is not None else []
        self._final: dict[str, float] = {}

    def spent(self) -> str | None:
        """Return why no more trials may be started, or None while they may."""
        allowed, seconds = self._allowance, self._now() - self._began
        if allowed.time is not None and seconds >= allowed.time:
            return f"the run's time limit ({allowed.time:g} s) is reached"
        if allowed.cost is not None and (cost := self._cost()) >= allowed.cost:
            return f"the {allowed.cost:g} dollars for the whole run are spent ({cost:.2f})"
        return None

    def _cost(self) -> float:
        for folder in self._trials:
            if folder.path.name not in self._final and (state := folder.state).final:
                self._final[folder.path.name] = state.cost or 0.0
        going = [folder for folder in self._trials if folder.path.name not in self._final and folder.has_log]
        return sum(self._final.values()) + sum(read_budget_used(folder).used.cost or 0.0 for folder in going)
