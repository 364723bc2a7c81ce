"""The memory of this machine, or of the container or control group that this process is in."""

import os
from pathlib import Path

from assay.core.quantities import format_size
from assay.lab.host.cgroups import own_groups
from assay.tasks import Task

_LIMITS = ("memory.max", "memory.limit_in_bytes")


def find_memory_shortage(task: Task) -> str | None:
    """Return a warning if preparing the real data of a task takes more memory than this machine has."""
    needed, available = task.preparation.memory, machine_memory()
    if needed is None or needed <= available:
        return None
    return (
        f"preparing {task.id} takes about {format_size(needed)} of memory, and this machine has "
        f"{format_size(available)}; it may be killed, or be slow if there is swap space"
    )


def machine_memory() -> int:
    """Return the memory in bytes that processes like this one can use together."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min([physical, *(limit for folder in own_groups() for limit in _read_limits(folder))])


def _read_limits(folder: Path) -> list[int]:
    texts = [(folder / name).read_text().strip() for name in _LIMITS if (folder / name).is_file()]
    return [int(text) for text in texts if text.isdecimal()]
