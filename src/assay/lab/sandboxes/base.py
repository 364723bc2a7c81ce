"""What the sandboxes have in common: how a command is started in one, limited, and ended with all that it started."""

import fcntl
import math
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from anyio.abc import Process

from assay.core.errors import LabError
from assay.lab.environments import library_path
from assay.lab.host.cgroups import Group
from assay.lab.interface import LabPaths, Limits, Sealing, Setup

SYSTEM_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
KILLED = 137
"""The exit code of a command we ended: 128 and the number of the kill signal, as a shell tells it."""
NOT_STARTED = 126
"""The exit code of a command that could not be started, as a shell tells it."""
_JOIN = 'while [ "$1" != -- ]; do echo 0 > "$1" || exit 125; shift; done; shift; exec "$@"'


class Started(Protocol):
    """A command that was started in a sandbox."""

    process: Process
    root: int | None
    """The process that everything the command starts descends from; None where the host does not see it."""
    out_of_memory: bool
    """Whether the sandbox itself found, at the end, that memory ran out."""

    @property
    def paused(self) -> bool:
        """Whether it is held still."""
        ...

    async def pause(self) -> None:
        """Hold the command and everything it started still."""
        ...

    async def unpause(self) -> None:
        """Let it go on after a pause; harmless when there was none."""
        ...

    async def end(self) -> None:
        """Kill the command and everything it started, and return when all of it is gone; harmless when it is."""
        ...

    def code(self) -> int | None:
        """The command's own exit code once it is over; None if it was killed or never began."""
        ...

    def failure(self, said: str) -> LabError:
        """What to raise when the sandbox itself failed and `said` something on its standard error."""
        ...


class Sandbox(Protocol):
    """A way to start commands that cannot leave the lab."""

    sealing: Sealing
    paths: LabPaths

    async def start(self, command: Sequence[str], variables: Mapping[str, str], stdin: int) -> Started:
        """Start a command with standard input from the open file `stdin` (as for `subprocess`, -1 for a pipe)."""
        ...


def variables_of(setup: Setup, environment: Path, workspace: str) -> dict[str, str]:
    """The environment variables a command finds: a small fixed set, and what the setup adds."""
    threads = str(max(1, math.ceil(setup.limits.cores)))
    fixed = {
        "HOME": workspace,
        "PATH": f"{environment}/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "TMPDIR": "/tmp",
        "PYTHONUNBUFFERED": "1",
        # The environment is compiled; what an agent writes changes too often to be worth it.
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": threads,
        "OPENBLAS_NUM_THREADS": threads,
        "MKL_NUM_THREADS": threads,
        "LOKY_MAX_CPU_COUNT": threads,
    }
    if library_path(setup.environment):
        fixed["LD_LIBRARY_PATH"] = f"{environment}/lib"
    return {**fixed, **setup.variables}


def limited(limits: Limits, *, memory_per_process: bool, processes: bool = True) -> list[str]:
    """The beginning of a command that puts the rest under per-process limits before it runs.

    In a user namespace the kernel counts the processes of that namespace alone; elsewhere all of a user's, so there the
    limit must be left off.
    """
    wanted = {"core": 0, "fsize": limits.file_size, "nofile": 4096}
    if processes:
        wanted["nproc"] = limits.processes
    if memory_per_process:
        wanted["data"] = limits.memory
    return [tool("prlimit"), *(f"--{name}={value}" for name, value in wanted.items()), "--"]


def joining(group: Group) -> list[str]:
    """The beginning of a command that puts the rest into a lab's control groups before it runs."""
    return ["/bin/sh", "-c", _JOIN, "sh", *map(str, doors), "--"] if (doors := group.doors) else []


def pinned(setup: Setup) -> list[str]:
    """The beginning of a command that keeps the rest on the processors of a pinned lab."""
    return [tool("taskset"), "--cpu-list", processors(setup)] if setup.pinned else []


def processors(setup: Setup) -> str:
    """The processors of a pinned lab: the last ones, as interrupts and other programs prefer the first."""
    return ",".join(map(str, sorted(os.sched_getaffinity(0))[-math.ceil(setup.limits.cores) :]))


def tool(name: str) -> str:
    """The path of a program every Linux system has."""
    found = shutil.which(name, path=SYSTEM_PATH)
    if found is None:
        raise LabError(f"{name} is not installed; run: apt-get install util-linux")
    return found


@contextmanager
def sealed_file(content: bytes) -> Iterator[int]:
    """An open file in memory that nobody can change, not even whoever it is handed to."""
    handle = os.memfd_create("assay", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        with os.fdopen(os.dup(handle), "wb") as file:
            file.write(content)
        os.lseek(handle, 0, os.SEEK_SET)
        seals = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK
        fcntl.fcntl(handle, fcntl.F_ADD_SEALS, seals)
        yield handle
    finally:
        os.close(handle)
