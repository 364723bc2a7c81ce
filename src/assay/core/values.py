"""Values with their uncertainty, and how values are written: the same digits in every table, figure and sentence."""

from dataclasses import dataclass
from datetime import datetime
from math import floor, log10
from typing import Protocol

from assay.core.quantities import format_cost, format_duration, format_measured, format_size

NOTHING = "–"
"""Written where there is no value."""


@dataclass(frozen=True)
class Interval:
    """A confidence interval."""

    low: float
    high: float

    @property
    def is_point(self) -> bool:
        """Whether it has no width, up to rounding."""
        return self.high - self.low < 1e-12


@dataclass(frozen=True)
class Estimate:
    """A mean with its standard error, which a single value does not have, and the range of the values."""

    n: int
    mean: float
    error: float | None
    low: float
    high: float


class _Ends(Protocol):
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...


class _Counted(Protocol):
    @property
    def count(self) -> int | None: ...
    @property
    def trials(self) -> int: ...


def format_number(value: float, like: float | None = None) -> str:
    """Return `value` with four significant digits, or with the decimals that four digits of `like` have."""
    scale = abs(value if like is None else like)
    if scale >= 1e7:
        return _minus(f"{value:.3e}")
    decimals = 4 if scale == 0 else min(max(3 - floor(log10(scale)), 0), 6)
    return _minus(f"{value:.{decimals}f}")


def format_estimate(estimate: Estimate | None) -> str:
    """Return `0.9815 ± 0.0009`, or the mean alone where there is no error."""
    if estimate is None:
        return NOTHING
    if estimate.error is None:
        return format_number(estimate.mean)
    return f"{format_number(estimate.mean)} ± {format_number(estimate.error, like=estimate.mean)}"


def format_change(fraction: float | None) -> str:
    """Return an improvement such as `+7.0%` or `−12%`."""
    if fraction is None:
        return NOTHING
    decimals = 1 if abs(fraction) < 0.9995 else 0
    text = f"{fraction * 100:+,.{decimals}f}%".replace(",", "\u202f")
    return _minus(text) if float(f"{fraction * 100:.1f}") else "0.0%"


def format_percent(share: float | None, decimals: int = 0) -> str:
    """Return a share such as `67%`."""
    return NOTHING if share is None else _minus(f"{100 * share:.{decimals}f}%")


def format_points(share: float | None, decimals: int = 0) -> str:
    """Return a difference between two shares in percentage points, such as `+3` or `−12`."""
    if share is None:
        return NOTHING
    text = f"{100 * share:+.{decimals}f}"
    return _minus(text) if float(text) else f"{0:.{decimals}f}"


def format_count(rate: _Counted | None) -> str:
    """Return a rate as a count such as `8 of 9`."""
    return NOTHING if rate is None or rate.count is None else f"{rate.count} of {rate.trials}"


def format_interval(interval: _Ends | None) -> str:
    """Return the interval of a share such as `39–86%`."""
    return NOTHING if interval is None else f"{interval.low * 100:.0f}–{interval.high * 100:.0f}%"


def format_p(p: float) -> str:
    """Return a p-value such as `0.031` or `< 0.001`."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def format_moment(moment: datetime) -> str:
    """Return date and time to the minute, such as `2026-05-01 14:30`."""
    return f"{moment:%Y-%m-%d %H:%M}"


def _minus(text: str) -> str:
    return text.replace("-", "−")


__all__ = [
    "NOTHING",
    "Estimate",
    "Interval",
    "format_change",
    "format_cost",
    "format_count",
    "format_duration",
    "format_estimate",
    "format_interval",
    "format_measured",
    "format_moment",
    "format_number",
    "format_p",
    "format_percent",
    "format_points",
    "format_size",
]
