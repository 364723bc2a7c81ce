"""Holding everything in a sandbox still, so that its workspace can be read and kept while it lives."""

import os
import signal
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from assay.core.errors import LabError

_STILL = set("TtZX")
_WAITS = "D"
# What the kernel, by its version, calls the place where a process waits for a child to leave its memory to it.
_FOR_A_CHILD = {"kernel_clone", "_do_fork", "do_fork", "wait_for_vfork_done"}
_TRIES = 5
_TRY_SECONDS = 1.0
_LOOKS = 2


def freeze_tree(root: int) -> frozenset[int]:
    """Stop a process and everything below it, and return when nothing of it moves; says which ones were moving before.

    A stopped process can neither start others nor wake them, so looking again until all are stopped comes to an end.
    One that waits for a child between fork and exec cannot stop before the child goes on. It is as good as stopped, for
    so is the child; where the kernel does not tell what it waits for, all are let go and stopped anew.
    """
    ours: set[int] = set()
    for _ in range(_TRIES):
        if _stop_all(root, ours):
            return frozenset(ours)
        thaw_tree(frozenset(ours))
        ours.clear()
    raise LabError("a process in the lab cannot be held still")


def thaw_tree(stopped: frozenset[int]) -> None:
    """Let processes go on that were stopped; those that stopped by themselves stay as they were."""
    for process in stopped:
        # One that was killed meanwhile may have left its number to somebody else.
        with suppress(ProcessLookupError, PermissionError):
            os.kill(process, signal.SIGCONT)


def _stop_all(root: int, ours: set[int]) -> bool:
    still, deadline = 0, time.monotonic() + _TRY_SECONDS
    while still < _LOOKS:
        moving = [process for process in _tree(root) if _moves(process)]
        for process in moving:
            ours.add(process)
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGSTOP)
        still = 0 if moving else still + 1
        if moving and time.monotonic() > deadline:
            return False
    return True


def _tree(root: int) -> Iterator[int]:
    """A process and its descendants."""
    children: dict[int, list[int]] = defaultdict(list)
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and (fields := _fields(folder / "stat")):
            children[int(fields[1])].append(int(folder.name))
    waiting = [root]
    while waiting:
        process = waiting.pop()
        yield process
        waiting += children[process]


def _moves(process: int) -> bool:
    """Whether any of its threads does: a signal reaches them one after the other."""
    with suppress(OSError):
        return any(_thread_moves(thread) for thread in Path(f"/proc/{process}/task").iterdir())
    return False


def _thread_moves(thread: Path) -> bool:
    fields = _fields(thread / "stat")
    if fields is None or fields[0] in _STILL:
        return False
    try:
        return fields[0] != _WAITS or (thread / "wchan").read_text() not in _FOR_A_CHILD
    except OSError:
        return True


def _fields(stat: Path) -> list[str] | None:
    """What the kernel says of a process from its state on: the name before may itself hold spaces and brackets."""
    try:
        return stat.read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
