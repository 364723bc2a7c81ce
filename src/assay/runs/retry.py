"""When a trial that failed through no fault of its agent is taken up again, and when no more trials are begun."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from assay.core.errors import ModelError, ModelUnavailable, NotPrepared, RecordError, UsageError
from assay.records import State, TrialFolder
from assay.runs.spent import used_so_far

# What another attempt cannot mend: the call, the preparation or the record itself must be changed first.
_LASTING = {error.__name__ for error in (UsageError, NotPrepared, RecordError)}
_PROVIDER = {error.__name__ for error in (ModelError, ModelUnavailable)}
_LONGER_FOR_PROVIDERS = 8
# With the usual pauses, a provider may be down for two hours before a trial is given up.
_OFTENER_FOR_OUTAGES = 10


@dataclass(frozen=True)
class Retries:
    """How often a trial is taken up, and how long the pauses are: each is twice as long as the one before.

    A provider that is down needs longer than a machine that hiccups, and is tried ten times as often. No trial's budget
    is used up in a pause: its clock runs only while it does. A trial that has not handed anything in `overdue` seconds
    after its time is over hangs: its process is ended, which counts as a failure.
    """

    attempts: int = 3
    wait: float = 2.0
    longest: float = 300.0
    overdue: float = 1800.0

    def pause(self, state: State, failures: int) -> float | None:
        """Seconds until the next attempt after so many that failed; None if there is to be none."""
        fault = (state.why or "").partition(":")[0] if state.cause == "infrastructure" else ""
        oftener = _OFTENER_FOR_OUTAGES if fault == ModelUnavailable.__name__ else 1
        if failures >= self.attempts * oftener or fault in _LASTING:
            return None
        longer = _LONGER_FOR_PROVIDERS if fault in _PROVIDER else 1
        return min(self.longest, self.wait * longer * 2.0 ** (failures - 1))


@dataclass(frozen=True)
class Allowance:
    """What a whole run may use up before no more trials are begun: seconds from now, dollars of all its trials."""

    time: float | None = None
    cost: float | None = None


class Spending:
    """Counts what a run has used of its allowance."""

    def __init__(
        self, allowance: Allowance, trials: Iterable[TrialFolder], now: Callable[[], float] = time.monotonic
    ) -> None:
        self._allowance, self._now, self._began = allowance, now, now()
        self._trials = list(trials) if allowance.cost is not None else []
        self._final: dict[str, float] = {}

    def spent(self) -> str | None:
        """Why no more trials are to be begun, or None while they may."""
        allowed, seconds = self._allowance, self._now() - self._began
        if allowed.time is not None and seconds >= allowed.time:
            return f"the {allowed.time:g} seconds for the whole run are over"
        if allowed.cost is not None and (cost := self._cost()) >= allowed.cost:
            return f"the {allowed.cost:g} dollars for the whole run are spent ({cost:.2f})"
        return None

    def _cost(self) -> float:
        for folder in self._trials:
            if folder.path.name not in self._final and (state := folder.state).final:
                self._final[folder.path.name] = state.cost or 0.0
        going = [folder for folder in self._trials if folder.path.name not in self._final and folder.events.exists()]
        return sum(self._final.values()) + sum(used_so_far(folder).cost or 0.0 for folder in going)
