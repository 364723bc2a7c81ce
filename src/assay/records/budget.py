"""What a trial has used of its budget, and the exception that ends it."""

import time
from collections.abc import Callable
from typing import Literal

from assay.core.quantities import BoundedInt, FiniteFloat, Model
from assay.tasks import Budget

BudgetLimit = Literal["time", "working_time", "steps", "tokens", "cost"]


class BudgetUsed(Model):
    """Seconds, steps, tokens and dollars used so far; `cost` is None where a price is not known.

    `waited` is the part of `elapsed` that was spent waiting for a model provider to accept a call.
    """

    elapsed: FiniteFloat = 0.0
    waited: FiniteFloat = 0.0
    steps: BoundedInt = 0
    tokens: BoundedInt = 0
    cost: FiniteFloat | None = 0.0


class OutOfBudget(Exception):
    """A limit of the trial's budget is reached; the submission in the workspace counts."""

    def __init__(self, limit: BudgetLimit, reason: str) -> None:
        super().__init__(reason)
        self.limit: BudgetLimit = limit


class Clock:
    """Counts time, steps, tokens and money against a budget.

    Time is a sum of increments of the monotonic clock, so a jump of the machine's date changes nothing, and a trial
    that is resumed continues from where it was. Working time excludes the time spent waiting for a model provider to
    accept a call.
    """

    def __init__(self, budget: Budget, now: Callable[[], float] = time.monotonic) -> None:
        self.budget = budget
        self.steps = 0
        self.tokens = 0
        self.waited = 0.0
        self.cost = 0.0
        self.cost_known = True
        self._waits: list[tuple[float, float]] = []
        self._exhausted: OutOfBudget | None = None
        self._now = now
        self._started = now()

    @property
    def elapsed(self) -> float:
        """Seconds used."""
        return self._now() - self._started

    @property
    def seconds_left(self) -> float:
        """Seconds that may still be used, of both total time and working time."""
        left = self.budget.time - self.elapsed
        if self.budget.working is not None:
            left = min(left, self.budget.working - (self.elapsed - self.waited))
        return max(0.0, left)

    @property
    def steps_left(self) -> int:
        """Steps that may still be taken."""
        return max(0, self.budget.steps - self.steps)

    @property
    def used(self) -> BudgetUsed:
        """Everything used so far, for the record."""
        return BudgetUsed(
            elapsed=round(self.elapsed, 3),
            waited=round(self.waited, 3),
            steps=self.steps,
            tokens=self.tokens,
            cost=round(self.cost, 6) if self.cost_known else None,
        )

    @property
    def left(self) -> dict[str, float]:
        """What an agent can read about its budget: seconds, steps, and tokens and dollars where these are limited."""
        budget = self.budget
        left: dict[str, float] = {"seconds_left": round(self.seconds_left, 1), "steps_left": self.steps_left}
        if budget.tokens is not None:
            left["tokens_left"] = max(0, budget.tokens - self.tokens)
        if budget.cost is not None:
            left["dollars_left"] = round(max(0.0, budget.cost - self.cost), 4)
        return left

    def step(self) -> None:
        """Count one step; raise `OutOfBudget` if no step or no time is left."""
        if self.steps_left == 0:
            raise OutOfBudget("steps", f"all {self.budget.steps} steps are used")
        self.check()
        self.steps += 1

    def check(self) -> None:
        """Raise `OutOfBudget` if time, tokens or money have run out."""
        if self._exhausted:
            raise self._exhausted
        if self.seconds_left == 0:
            if self.elapsed >= self.budget.time:
                raise OutOfBudget("time", f"all {self.budget.time:.0f} seconds are used")
            raise OutOfBudget("working_time", f"all {self.budget.working or 0:.0f} seconds of working time are used")
        if self.budget.tokens is not None and self.tokens >= self.budget.tokens:
            raise OutOfBudget("tokens", f"all {self.budget.tokens:,} tokens are used")
        if self.budget.cost is not None and self.cost >= self.budget.cost:
            raise OutOfBudget("cost", f"all {self.budget.cost:g} dollars are used")

    def exhaust(self, limit: BudgetLimit, reason: str) -> OutOfBudget:
        """End the budget early, because what is left of it is not enough; return what `check` raises from now on."""
        self._exhausted = self._exhausted or OutOfBudget(limit, reason)
        return self._exhausted

    def count(self, *, tokens: int, cost: float | None, waited: float, since: float | None = None) -> None:
        """Count what a model's reply used; a reply of unknown price makes the total cost unknown.

        The wait began `since` seconds ago, by default the `waited` seconds that it took. Time during which several
        calls waited counts once.
        """
        self.tokens += tokens
        if waited > 0:
            start = self._now() - (waited if since is None else max(since, waited))
            self._add_wait(max(start, self._started), start + waited)
        if cost is None:
            self.cost_known = False
        else:
            self.cost += cost

    def _add_wait(self, start: float, end: float) -> None:
        """Add the part of an interval that was not waited yet."""
        later: list[tuple[float, float]] = []
        while self._waits and self._waits[-1][1] >= start:
            first, last = self._waits.pop()
            if first > end:
                later.append((first, last))
            else:
                self.waited -= last - first
                start, end = min(start, first), max(end, last)
        self.waited += end - start
        self._waits += [(start, end), *reversed(later)]

    def set(self, used: BudgetUsed) -> None:
        """Continue from what was used before."""
        self._started = self._now() - used.elapsed
        self._waits = []
        self.waited, self.steps, self.tokens = used.waited, used.steps, used.tokens
        self.cost_known = used.cost is not None
        self.cost = used.cost or 0.0
