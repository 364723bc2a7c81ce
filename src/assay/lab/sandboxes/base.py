"""The interface of sandboxes, and the parts of a command line that they share."""

import fcntl
import math
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, Protocol

from anyio.abc import Process

from assay.core.errors import LabError
from assay.core.home import Home
from assay.lab.environments import TOOLS_INSIDE, WEIGHTS_INSIDE, library_path
from assay.lab.host.cgroups import Freezer, LabCgroups
from assay.lab.host.slots import LabSlot
from assay.lab.interface import LabPaths, Limits, Sealing, Setup

SYSTEM_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
KILLED = 137
"""The exit code of a command that was killed, in the convention of a shell: 128 plus the number of SIGKILL."""
NOT_STARTED = 126
"""The exit code of a command that could not be started, in the convention of a shell."""
_JOIN = 'while [ "$1" != -- ]; do echo 0 > "$1" || exit 125; shift; done; shift; exec "$@"'


class StartedCommand(Protocol):
    """A command that was started in a sandbox."""

    process: Process
    root: int | None
    """The process that everything in the sandbox descends from; None if the host does not see it."""
    out_of_memory: bool
    """Whether the sandbox reported that memory ran out."""
    expired: bool
    """Whether `kill_expired` was called."""

    @property
    def paused(self) -> bool:
        """Whether it is frozen."""
        ...

    async def pause(self) -> None:
        """Freeze the command and everything it started."""
        ...

    async def unpause(self) -> None:
        """Let it continue after a pause; does nothing if it is not paused."""
        ...

    async def end(self) -> None:
        """Kill the command and everything it started, and wait until all of it is gone."""
        ...

    def kill_expired(self) -> None:
        """Kill it because the lab's time is up; may be called from any thread, and does not wait."""
        ...

    def code(self) -> int | None:
        """Return the command's exit code once it has ended; None if it was killed or never started."""
        ...

    def failure(self, stderr: str) -> LabError:
        """Return the error for a sandbox that itself failed with this on its standard error."""
        ...


class Sandbox(Protocol):
    """A way to start commands that cannot leave the lab."""

    own_user: ClassVar[bool]
    """Whether commands run as a user of the lab's own, if Assay runs as root."""
    own_cgroups: ClassVar[bool]
    """Whether commands join the lab's cgroups."""
    mounts_data: ClassVar[bool]
    """Whether it mounts the data on an empty folder of the workspace, which is then made before the sandbox."""
    sealing: Sealing
    paths: LabPaths

    def __init__(self, home: Home, slot: LabSlot, setup: Setup) -> None: ...

    async def start(
        self, command: Sequence[str], variables: Mapping[str, str], stdin: int, *, freezable: bool = False
    ) -> StartedCommand:
        """Start a command; `stdin` is as for `subprocess`. Only a `freezable` one can be paused reliably."""
        ...


def build_variables(setup: Setup, environment: Path, workspace: str) -> dict[str, str]:
    """Return the environment variables of a command: a small fixed set, and those of the setup."""
    threads = str(max(1, math.ceil(setup.limits.cores)))
    fixed = {
        "HOME": workspace,
        "PATH": f"{environment}/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "TMPDIR": "/tmp",
        "PYTHONUNBUFFERED": "1",
        # The environment is compiled already, and code of agents changes too often to be worth it.
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": threads,
        "OPENBLAS_NUM_THREADS": threads,
        "MKL_NUM_THREADS": threads,
        "LOKY_MAX_CPU_COUNT": threads,
        # Without these, imports print that there is no network, and which processor instructions are used.
        "NO_ALBUMENTATIONS_UPDATE": "1",
        "TF_CPP_MIN_LOG_LEVEL": "1",
    }
    tools = str(setup.tools) if environment == setup.environment else TOOLS_INSIDE
    linked = [(setup.environment, str(environment)), *([(setup.tools, tools)] if setup.tools else [])]
    if libraries := [f"{inside}/lib" for folder, inside in linked if library_path(folder)]:
        fixed["LD_LIBRARY_PATH"] = ":".join(libraries)
    if setup.weights:
        fixed |= _weights_variables(str(setup.weights) if environment == setup.environment else WEIGHTS_INSIDE)
    return {**fixed, **setup.variables}


def _weights_variables(folder: str) -> dict[str, str]:
    """Return what makes the usual libraries look for pretrained weights in a folder, and not on the network."""
    return {
        "WEIGHTS": folder,
        "HF_HOME": folder,
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "TORCH_HOME": folder,
        "NLTK_DATA": f"{folder}/nltk_data",
    }


def apply_rlimits(limits: Limits, *, memory_per_process: bool, processes: bool = True) -> list[str]:
    """Return the command prefix that sets per-process limits.

    The kernel counts the processes of a user within a user namespace. Outside of one it would count all processes of
    the user, so there `processes` must be off.
    """
    rlimits = rlimit_values(limits, memory_per_process=memory_per_process, processes=processes)
    return [find_tool("prlimit"), *(f"--{name.lower()}={value}" for name, value in rlimits.items()), "--"]


def rlimit_values(limits: Limits, *, memory_per_process: bool, processes: bool = True) -> dict[str, int]:
    """Return the per-process limits by the names that the kernel gives them."""
    rlimits = {"CORE": 0, "FSIZE": limits.file_size, "NOFILE": 4096}
    if processes:
        rlimits["NPROC"] = limits.processes
    if memory_per_process:
        rlimits["DATA"] = limits.memory
    return rlimits


def join_cgroups(group: LabCgroups, freezer: Freezer | None = None) -> list[str]:
    """Return the command prefix that joins the control groups of a lab."""
    files = group.join_files(freezer)
    return ["/bin/sh", "-c", _JOIN, "sh", *map(str, files), "--"] if files else []


def pin_to_processors(setup: Setup) -> list[str]:
    """Return the command prefix that confines a pinned lab to its processors."""
    return [find_tool("taskset"), "--cpu-list", choose_processors(setup)] if setup.pinned else []


def choose_processors(setup: Setup) -> str:
    """Return the processors of a pinned lab: the last ones, because interrupts and other programs prefer the first."""
    return ",".join(map(str, sorted(os.sched_getaffinity(0))[-math.ceil(setup.limits.cores) :]))


def find_tool(name: str) -> str:
    """Return the path of a program that every Linux system has."""
    path = shutil.which(name, path=SYSTEM_PATH)
    if path is None:
        raise LabError(f"{name} is not installed; run: apt-get install util-linux")
    return path


@contextmanager
def sealed_file(content: bytes) -> Iterator[int]:
    """Yield a descriptor of a file in memory that no process can change."""
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
