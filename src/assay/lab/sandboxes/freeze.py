"""Stop and continue a tree of processes with signals, where there is no control group to freeze them."""

import os
import signal
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from assay.core.errors import LabError

_STOPPED_STATES = set("TtZX")
_UNINTERRUPTIBLE = "D"
# The kernel functions, by version, in which a process waits for a child between fork and exec.
_VFORK_WAITS = {"kernel_clone", "_do_fork", "do_fork", "wait_for_vfork_done"}
_TRIES = 5
_TRY_SECONDS = 1.0
_CHECKS = 2


def freeze_tree(root: int) -> frozenset[int]:
    """Stop a process and all its descendants, wait until none runs, and return those that were running before.

    A stopped process can neither start others nor continue them, so checking until all are stopped terminates. One
    that waits for a child between fork and exec cannot stop before the child continues, but is as good as stopped if
    the child is. If the kernel does not show what it waits for, all are continued and stopped again.
    """
    ours: set[int] = set()
    for _ in range(_TRIES):
        if _stop_all(root, ours):
            return frozenset(ours)
        thaw_tree(frozenset(ours))
        ours.clear()
    raise LabError("a process in the lab cannot be stopped")


def thaw_tree(stopped: frozenset[int]) -> None:
    """Continue processes that `freeze_tree` stopped; those that were stopped before stay stopped."""
    for process in stopped:
        # The id of one that was killed meanwhile may belong to another user's process.
        with suppress(ProcessLookupError, PermissionError):
            os.kill(process, signal.SIGCONT)


def _stop_all(root: int, ours: set[int]) -> bool:
    still, deadline = 0, time.monotonic() + _TRY_SECONDS
    while still < _CHECKS:
        moving = [process for process in _tree(root) if _is_running(process)]
        for process in moving:
            ours.add(process)
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGSTOP)
        still = 0 if moving else still + 1
        if moving and time.monotonic() > deadline:
            return False
    return True


def _tree(root: int) -> Iterator[int]:
    """Yield a process and its descendants."""
    children: dict[int, list[int]] = defaultdict(list)
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and (fields := _fields(folder / "stat")):
            children[int(fields[1])].append(int(folder.name))
    waiting = [root]
    while waiting:
        process = waiting.pop()
        yield process
        waiting += children[process]


def _is_running(process: int) -> bool:
    """Whether any of its threads runs: a signal reaches them one after the other."""
    with suppress(OSError):
        return any(_thread_runs(thread) for thread in Path(f"/proc/{process}/task").iterdir())
    return False


def _thread_runs(thread: Path) -> bool:
    fields = _fields(thread / "stat")
    if fields is None or fields[0] in _STOPPED_STATES:
        return False
    try:
        return fields[0] != _UNINTERRUPTIBLE or (thread / "wchan").read_text() not in _VFORK_WAITS
    except OSError:
        return True


def _fields(stat: Path) -> list[str] | None:
    """Return the fields of a stat file from the state on; the name before may contain spaces and brackets."""
    try:
        return stat.read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
