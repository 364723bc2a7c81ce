"""Whether this machine has the memory that preparing a task's real data takes."""

import os
from pathlib import Path

from assay.core.quantities import format_size
from assay.tasks import Task

_CGROUP_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


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
    """Return the memory of this machine in bytes, or of the container that this process is in."""
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for path in _CGROUP_LIMITS:
        if path.is_file() and (text := path.read_text().strip()).isdecimal():
            limits.append(int(text))
    return min(limits)
