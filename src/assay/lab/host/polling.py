"""How much a lab uses, counted from outside where the kernel does not hold it to its limits."""

import os
from collections import defaultdict
from pathlib import Path

from assay.core.errors import UnsafePath
from assay.lab.host.slots import LabSlot
from assay.lab.interface import Ended, Limits
from assay.lab.workspace import walk

_UNCOUNTABLE = 2**63
_LEAST = 4096  # even an empty file takes a name and an inode, of which a disk has only so many


def over_limit(slot: LabSlot, limits: Limits, root: int | None) -> Ended | None:
    """The limit that a lab, whose processes descend from `root` as far as the host sees them, has passed."""
    if slot.volume is None and disk_used(slot.workspace) > limits.disk:
        return "disk"
    if root is not None and "memory" not in slot.group.enforced and memory_used(root) > limits.memory:
        return "memory"
    return None


def disk_used(workspace: Path) -> int:
    """Bytes on disk below `workspace`.

    What cannot be counted (too many names, a folder too deep or closed to us) is a hiding place, and counts as more
    than any disk holds.
    """
    used = 0
    try:
        for entry in walk(workspace):
            if not entry.readable:
                return _UNCOUNTABLE
            used += max(entry.stat.st_blocks * 512, _LEAST)
    except UnsafePath:
        return _UNCOUNTABLE
    return used


def memory_used(root: int) -> int:
    """Bytes of memory held by a process and all its descendants; pages they share count for each."""
    page = os.sysconf("SC_PAGE_SIZE")
    children: dict[int, list[int]] = defaultdict(list)
    resident: dict[int, int] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                # The name before the bracket may itself hold spaces and brackets.
                fields = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
            except OSError:
                continue
            children[int(fields[1])].append(int(folder.name))
            resident[int(folder.name)] = int(fields[21]) * page
    used, waiting = 0, [root]
    while waiting:
        pid = waiting.pop()
        used += resident.get(pid, 0)
        waiting += children[pid]
    return used
