"""What a trial has used up of its budget, and the exception that ends it."""

import time
from collections.abc import Callable

from assay.tasks import Budget


class OutOfBudget(Exception):
    """The trial's time or steps are spent; what is handed in so far counts."""


class Clock:
    """Counts time and steps against a budget.

    Time is a sum of increments of the monotonic clock, so a jump of the machine's date changes nothing.
    """

    def __init__(self, budget: Budget, now: Callable[[], float] = time.monotonic) -> None:
        self.budget = budget
        self.steps = 0
        self._now = now
        self._started = now()

    @property
    def elapsed(self) -> float:
        """Seconds used."""
        return self._now() - self._started

    @property
    def seconds_left(self) -> float:
        """Seconds that may still be used."""
        return max(0.0, self.budget.time - self.elapsed)

    @property
    def steps_left(self) -> int:
        """Steps that may still be taken."""
        return max(0, self.budget.steps - self.steps)

    def step(self) -> None:
        """Count one step; `OutOfBudget` if there is none left or no time for it."""
        if self.steps_left == 0:
            raise OutOfBudget(f"all {self.budget.steps} steps are used")
        if self.seconds_left == 0:
            raise OutOfBudget(f"all {self.budget.time:.0f} seconds are used")
        self.steps += 1
