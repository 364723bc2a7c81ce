"""The load of this machine: on a busy one, time limits and measured times are unreliable."""

import os
from pathlib import Path

BUSY_LOAD = 1.5
"""Runnable processes per core above which a machine is called busy: each gets at most two thirds of a core."""


def read_load(path: Path = Path("/proc/loadavg"), cores: int | None = None) -> float | None:
    """Return the load average of the last minute per core; None where the machine does not report it."""
    try:
        return round(float(path.read_text().split()[0]) / (cores or os.cpu_count() or 1), 2)
    except (OSError, ValueError, IndexError):
        return None


def describe_load(load: float | None) -> str | None:
    """Return a warning if the machine is busy."""
    if load is None or load <= BUSY_LOAD:
        return None
    return (
        f"this machine is busy ({load:.1f} runnable processes per core): agents get less done in their time, and "
        "measured times are unreliable"
    )
