"""The load and the processors of this machine: on a busy or slower one, time limits and measured times differ."""

import os
import re
from pathlib import Path

BUSY_LOAD = 1.5
"""Runnable processes per core above which a machine is called busy: each gets at most two thirds of a core."""


def read_load(path: Path = Path("/proc/loadavg"), cores: int | None = None) -> float | None:
    """Return the load average of the last minute per core; None where the machine does not report it."""
    try:
        return round(float(path.read_text().split()[0]) / (cores or os.cpu_count() or 1), 2)
    except (OSError, ValueError, IndexError):
        return None


def read_processor(path: Path = Path("/proc/cpuinfo")) -> str | None:
    """Return the model of this machine's processor; None where the machine does not report it."""
    try:
        match = re.search(r"^model name\s*:\s*(.+)$", path.read_text(errors="replace"), re.MULTILINE)
    except OSError:
        return None
    return match[1].strip() if match else None


def read_gpu_model(folder: Path = Path("/proc/driver/nvidia/gpus")) -> str | None:
    """Return the models of this machine's GPUs; None where the driver does not report them."""
    texts = [path.read_text(errors="replace") for path in sorted(folder.glob("*/information"))]
    models = [match[1].strip() for text in texts if (match := re.search(r"^Model:\s*(.+)$", text, re.MULTILINE))]
    return ", ".join(dict.fromkeys(models)) or None


def describe_load(load: float | None) -> str | None:
    """Return a warning if the machine is busy."""
    if load is None or load <= BUSY_LOAD:
        return None
    return (
        f"this machine is busy ({load:.1f} runnable processes per core): agents get less done in their time, and "
        "measured times are unreliable"
    )
