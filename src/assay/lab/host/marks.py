"""Marks on the processes of a lab without namespaces, by which all of them can be recognised and killed.

The mark is the value of a resource limit that the kernel does not use. Every process inherits it, and the lab's filter
denies changing it, so it cannot be lost by forking, by starting a session or by clearing the environment.
"""

import os
import re
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from assay.core.errors import LabError

_FILE = "mark"
_LIMIT = re.compile(r"^Max file locks +(\d+) ", re.MULTILINE)
_LAB_DIGITS = 11  # of a hexadecimal name; limits have 64 bits, the highest values of which mean that there is none
_COMMANDS = 2**16


def reserve_marks(folder: Path) -> range:
    """Return the marks of the lab in this folder, one for each command, and note that its processes carry them."""
    (folder / _FILE).touch()
    return _marks_of(folder)


def kill_lab(folder: Path, timeout: float) -> None:
    """Kill all processes that carry a mark of the lab in this folder, if it has any."""
    if (folder / _FILE).exists():
        kill_marked(_marks_of(folder), timeout)


def kill_marked(marks: range, timeout: float = 30.0) -> None:
    """Kill all processes that carry one of these marks, and wait until they are gone."""
    deadline = time.monotonic() + timeout
    while pids := list(_find_marked(marks)):
        if time.monotonic() > deadline:
            raise LabError(f"process {pids[0]} of a lab cannot be killed; check for hanging disks or network mounts")
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _find_marked(marks: range) -> Iterator[int]:
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                match = _LIMIT.search((folder / "limits").read_text())
                if match and int(match[1]) in marks:
                    yield int(folder.name)


def _marks_of(folder: Path) -> range:
    first = int(folder.name.rpartition("-")[2][:_LAB_DIGITS], 16) * _COMMANDS
    return range(first, first + _COMMANDS)
