"""Claims: rates, differences and ranks with all that is needed to read them.

Tables and figures render these types where they state how good agents are, and refuse plain numbers there. Counts and
scores of trials are observations, and `Published` figures are quoted; both are no claims.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Literal

from assay.core.values import Interval, format_interval, format_percent, format_points

ALPHA = 0.05
MissingKind = Literal["pending", "infrastructure", "inapplicable", "rerun", "unknown"]


class Population(StrEnum):
    """What tasks a claim is about."""

    THESE = "these tasks"
    LIKE = "tasks like these"


@dataclass(frozen=True)
class Estimand:
    """What is estimated: the mean of a measure over tasks of an agent, or a difference, such as that of two agents."""

    measure: str
    agents: tuple[str, ...]
    population: Population
    reason: str = ""
    """Why this measure, where it is not the one that was asked for."""
    kind: Literal["mean", "difference"] = "mean"


@dataclass(frozen=True)
class Evidence:
    """What a claim rests on."""

    tasks: int
    families: int
    trials: tuple[int, ...]
    """Trials of each agent that are in the estimate."""
    method: str
    comparisons: int = 1
    """How many comparisons the interval and the verdict allow for."""
    looks: int = 1
    """By what their level is divided because results were looked at before; see `Registration.allowance`."""
    hits: int | None = None
    """How many of the trials of a single agent succeeded, where each does or does not."""

    @property
    def level(self) -> float:
        """The probability of an error that is left to the claim."""
        return ALPHA / (self.comparisons * self.looks)


@dataclass(frozen=True)
class Missing:
    """Trials without a result of their own, and how they are counted."""

    kind: MissingKind
    trials: int
    rule: str


@dataclass(frozen=True)
class Claim:
    """An estimate with all that is needed to read it; it cannot be made with an interval that contradicts it.

    `worst` and `best` are what the estimate would be if all missing trials had failed, or were perfect; for a
    difference, those of the first agent, and the other way round those of the second. `parts` are the two means whose
    difference it is, and `errors` standard errors by kind, for publications that print them.
    """

    estimand: Estimand
    value: float
    interval: Interval
    evidence: Evidence
    worst: float
    best: float
    missing: tuple[Missing, ...] = ()
    conditions: tuple[str, ...] = ()
    p: float | None = None
    confidence: float = 0.95
    parts: tuple[float, float] | None = None
    errors: Mapping[str, float | None] = field(default_factory=dict)
    p_adjusted: float | None = field(init=False, default=None)
    """The p-value adjusted for the number of comparisons and of looks; significant at 5%."""

    def __post_init__(self) -> None:
        if self.p is not None:
            object.__setattr__(self, "p_adjusted", min(1.0, self.p * ALPHA / self.evidence.level))
        # A task without any result yet is in the bounds, but not in the estimate, which may then be outside of them.
        object.__setattr__(self, "worst", min(self.worst, self.value))
        object.__setattr__(self, "best", max(self.best, self.value))
        low, high = self.interval.low, self.interval.high
        if self.interval.is_point or not low <= self.value <= high:
            raise ValueError(f"estimate {self.value} with interval {low} to {high}")
        if self.p is not None and (self.p <= 1 - self.confidence) == (low <= 0 <= high):
            raise ValueError(f"p = {self.p} with the {self.confidence:.1%} interval {low} to {high}")

    @property
    def low(self) -> float:
        """The lower end of its interval."""
        return self.interval.low

    @property
    def high(self) -> float:
        """The upper end of its interval."""
        return self.interval.high

    @property
    def trials(self) -> int:
        """How many trials are in the estimate."""
        return sum(self.evidence.trials)

    @property
    def count(self) -> int | None:
        """How many of the trials succeeded, where each does or does not."""
        return self.evidence.hits

    @property
    def population(self) -> str:
        """What tasks it is about."""
        return str(self.estimand.population)

    @property
    def is_complete(self) -> bool:
        """Whether no missing trial could change the estimate."""
        return math.isclose(self.worst, self.value, abs_tol=1e-9) and math.isclose(self.value, self.best, abs_tol=1e-9)

    def scaled(self, factor: float, measure: str) -> "Claim":
        """Return the same claim per some unit, such as points per hour for points in three hours."""
        return replace(
            self,
            estimand=replace(self.estimand, measure=measure),
            value=factor * self.value,
            interval=Interval(factor * self.low, factor * self.high),
            worst=factor * self.worst,
            best=factor * self.best,
            parts=None,
        )

    def reversed(self) -> "Claim":
        """Return a difference the other way round."""
        return replace(
            self,
            estimand=replace(self.estimand, agents=self.estimand.agents[::-1]),
            value=-self.value,
            interval=Interval(-self.high, -self.low),
            worst=-self.best,
            best=-self.worst,
            parts=self.parts[::-1] if self.parts else None,
        )


@dataclass(frozen=True)
class Standing:
    """The rank of an agent among those it was compared with, from the comparisons on tasks like these.

    `ranks` are those that the comparisons leave open, `best` the probability of the highest mean, and `shrunken` the
    mean without what the best of several agents owes to luck. Where trials are missing, `best_bounds` and
    `shrunken_bounds` are what both would be in the worst and the best case of the agent.
    """

    agent: str
    agents: int
    ranks: tuple[int, int]
    best: float
    shrunken: float
    best_bounds: tuple[float, float] | None = None
    shrunken_bounds: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        low, high = self.ranks
        if not 1 <= low <= high <= self.agents or not 0 <= self.best <= 1:
            raise ValueError(f"ranks {low} to {high} of {self.agents} agents, best with probability {self.best}")

    @property
    def low(self) -> int:
        """The best rank that is left open."""
        return self.ranks[0]

    @property
    def high(self) -> int:
        """The worst rank that is left open."""
        return self.ranks[1]


@dataclass(frozen=True)
class Published:
    """A rate that others published, with the error they print; it is quoted, not claimed."""

    value: float
    error: float | None = None


def format_rate(claim: Claim | None, decimals: int = 0) -> str:
    """Return a rate with its interval, and the range that missing trials leave, such as `46% (13–76%), 46–100%`."""
    if claim is None:
        return "–"
    text = f"{format_percent(claim.value, decimals)} ({format_interval(claim.interval)})"
    bounds = "" if claim.is_complete else f", {100 * claim.worst:.0f}–{100 * claim.best:.0f}% with missing trials"
    return text + bounds


def format_limits(claim: Claim, decimals: int = 0) -> str:
    """Return the interval of a claim: `39–86%` of a rate, `−3 to +12` of a difference."""
    if claim.estimand.kind == "mean":
        return format_interval(claim.interval)
    return f"{format_points(claim.low, decimals)} to {format_points(claim.high, decimals)}"


def format_difference(claim: Claim | None, decimals: int = 0) -> str:
    """Return a difference in percentage points with its interval, such as `+12 (−3 to +27)`."""
    return "–" if claim is None else f"{format_points(claim.value, decimals)} ({format_limits(claim, decimals)})"


def format_ranks(standing: Standing) -> str:
    """Return the ranks that are left open, such as `1–3`."""
    return str(standing.low) if standing.low == standing.high else f"{standing.low}–{standing.high}"


def format_standing(value: float, bounds: tuple[float, float] | None, decimals: int = 0) -> str:
    """Return a probability or a mean of a standing, with the range that missing trials leave."""
    if bounds is None:
        return format_percent(value, decimals)
    return f"{format_percent(value, decimals)}, {100 * bounds[0]:.0f}–{100 * bounds[1]:.0f}% with missing trials"


def format_published(rate: Published, decimals: int = 0) -> str:
    """Return a published rate as it was printed, such as `43.56 ± 0.89%`."""
    mean = f"{100 * rate.value:.{decimals}f}"
    return f"{mean}%" if rate.error is None else f"{mean} ± {100 * rate.error:.{decimals}f}%"
