"""Usage of a lab, polled by the harness where the kernel does not enforce a limit."""

import os
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from assay.core.errors import UnsafePath
from assay.lab.host.slots import LabSlot
from assay.lab.interface import Ended, Limits, ResourceSample
from assay.lab.workspace import walk

_UNLIMITED = 2**63
_SOCKET_BUFFER = 2 * 212_992  # the default size of both queues of a socket
_MIN_SOCKETS = 64
_MIN_FILE = 4096  # an empty file still takes a name and an inode, which are limited too


def over_limit(slot: LabSlot, limits: Limits, root: int | None) -> Ended | None:
    """Return the limit that a lab exceeds, or None; its processes descend from `root`, if the host sees them."""
    if slot.volume is None and workspace_size(slot) > limits.disk:
        return "disk"
    if root is not None and "memory" not in slot.group.enforced and memory_used(root) > limits.memory:
        return "memory"
    if root is not None and sockets_used(root) > max(_MIN_SOCKETS, limits.memory // 4 // _SOCKET_BUFFER):
        return "memory"
    return None


def workspace_size(slot: LabSlot) -> int:
    """Return the bytes on disk of a lab's workspace and its temporary files."""
    temporary = disk_used(slot.temporary) if slot.temporary.is_dir() else 0
    return min(disk_used(slot.workspace) + temporary, _UNLIMITED)


def disk_used(workspace: Path) -> int:
    """Return the bytes on disk below `workspace`.

    What cannot be counted (too many names, a folder that is too deep or cannot be opened) could hide files, and counts
    as unlimited.
    """
    used = 0
    try:
        for entry in walk(workspace):
            if not entry.readable:
                return _UNLIMITED
            used += max(entry.stat.st_blocks * 512, _MIN_FILE)
    except UnsafePath:
        return _UNLIMITED
    return used


def sockets_used(root: int) -> int:
    """Return the number of sockets in the network namespace of a process; 0 if it is that of the harness.

    The kernel does not count the queues of UDP and unix sockets as memory of the lab, but bounds each of them.
    """
    try:
        if Path(f"/proc/{root}/ns/net").stat().st_ino == Path("/proc/self/ns/net").stat().st_ino:
            return 0
        first = Path(f"/proc/{root}/net/sockstat").read_text().partition("\n")[0]
    except OSError:
        return 0
    return int(first.rpartition(" ")[2])


def memory_used(root: int) -> int:
    """Return the resident memory of a process and all its descendants; shared pages count for each."""
    return sum(process.memory for process in _descendants(root))


def sample_resources(slot: LabSlot, root: int, seconds: float) -> ResourceSample:
    """Return what a process and all its descendants use now; processes that have ended count with their parents."""
    processes = _descendants(root)
    if slot.volume is None:
        disk = min(workspace_size(slot), _UNLIMITED - 1)
    else:
        volume = os.statvfs(slot.volume.point)
        disk = (volume.f_blocks - volume.f_bfree) * volume.f_frsize
    return ResourceSample(
        seconds=round(seconds, 1),
        cpu=round(sum(process.cpu for process in processes), 2),
        memory=sum(process.memory for process in processes),
        disk=disk,
    )


@dataclass(frozen=True)
class _ProcessUsage:
    """The resident memory of a process in bytes, and its processor time with that of the children it waited for."""

    memory: int
    cpu: float


def _descendants(root: int) -> list[_ProcessUsage]:
    """Return what a process and each of its descendants uses."""
    page, ticks = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_CLK_TCK")
    children: dict[int, list[int]] = defaultdict(list)
    usage: dict[int, _ProcessUsage] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                # The name before the last bracket may itself contain spaces and brackets.
                fields = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
            except OSError:
                continue
            children[int(fields[1])].append(int(folder.name))
            usage[int(folder.name)] = _ProcessUsage(int(fields[21]) * page, sum(map(int, fields[11:15])) / ticks)
    processes, waiting = [], [root]
    while waiting:
        pid = waiting.pop()
        if pid in usage:
            processes.append(usage[pid])
        waiting += children[pid]
    return processes
