"""Sandbox `landlock`: for machines without namespaces, such as pods and cluster nodes; needs neither root nor programs.

Landlock limits which files a command may open, a filter its system calls, and resource limits the rest. Paths are those
of the machine: there is no `/workspace`. What this cannot separate is in the record as missing.
"""

import itertools
import json
import os
import platform
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

import anyio
from anyio.abc import Process

from assay.core.disk import random_token
from assay.core.errors import LabError
from assay.core.home import Home
from assay.lab import workspace
from assay.lab.host.cgroups import Freezer
from assay.lab.host.marks import kill_marked, reserve_marks
from assay.lab.host.slots import LabSlot
from assay.lab.interface import LabPaths, Sealing, Setup
from assay.lab.sandboxes import landlock_launcher, seccomp
from assay.lab.sandboxes.base import build_variables, choose_processors, rlimit_values, sealed_file
from assay.lab.sandboxes.bwrap_args import find_hidden_folders
from assay.lab.sandboxes.freeze import freeze_tree, thaw_tree

_KILL_TIMEOUT = 30.0
_MIN_VERSION_OF_SHARED_USER = 6
# Files of the machine that programs read. Of /proc there is nothing about processes, not even the reader's own.
_READABLE = (
    "/etc/alternatives", "/etc/fonts", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime",
    "/etc/ssl/certs", "/proc/cpuinfo", "/proc/filesystems", "/proc/meminfo", "/proc/stat", "/proc/sys/kernel/random",
    "/proc/sys/vm", "/proc/uptime", "/proc/version", "/sys/devices/system", "/sys/kernel/mm/transparent_hugepage",
)  # fmt: skip
_DEVICES = tuple(f"/dev/{name}" for name in ("full", "null", "random", "urandom", "zero"))
_SHARED_MEMORY = Path("/dev/shm")
DATA = "data"


class Landlock:
    """Starts each command as a process that has confined itself."""

    own_user, own_cgroups, mounts_data = True, True, False

    def __init__(self, home: Home, slot: LabSlot, setup: Setup) -> None:
        check(own_user=slot.owner is not None)
        if setup.network == "models":
            raise LabError(
                "sandbox landlock cannot give a lab an endpoint and nothing else, because Landlock filters ports and "
                "not hosts; use an agent that runs outside of the lab, or --sandbox bubblewrap"
            )
        self._slot = slot
        self._data = setup.data.resolve() if setup.data else None
        self._marks = itertools.cycle(reserve_marks(slot.folder))
        self._running: set[LandlockCommand] = set()
        slot.temporary.mkdir(mode=0o700)
        if slot.owner:
            os.chown(slot.temporary, *slot.owner)
        self._settings: dict[str, object] = {
            "join": [],
            "processors": [int(number) for number in choose_processors(setup).split(",")] if setup.pinned else [],
            "limits": rlimit_values(setup.limits, memory_per_process="memory" not in slot.group.enforced),
            "owner": slot.owner,
            "filter": seccomp.build_filter(
                pinned=setup.pinned,
                namespaces=False,
                own_user=slot.owner is not None,
                memory_counted="memory" in slot.group.enforced,
            ).hex(),
            "workspace": str(slot.workspace),
            "rules": _rules(home, slot, setup),
        }
        names = {"ASSAY_WORKSPACE": str(slot.workspace), "USER": "agent", "LOGNAME": "agent"}
        own = build_variables(setup, setup.environment, str(slot.workspace))
        self._variables = names | {**own, "TMPDIR": str(slot.temporary)}
        tools = str(setup.tools) if setup.tools else None
        self.paths = LabPaths(str(slot.workspace), str(setup.environment), str(slot.status), tools)
        self.sealing = _sealing(slot)

    async def start(
        self, command: Sequence[str], variables: Mapping[str, str], stdin: int, *, freezable: bool = False
    ) -> "LandlockCommand":
        """Start a command; all limits are in force before its first instruction."""
        freezer = self._slot.group.make_freezer() if freezable else None
        with anyio.CancelScope(shield=True), ExitStack() as inherited:
            await anyio.to_thread.run_sync(self._restore_data)
            mark = next(self._marks)
            settings = {
                **self._settings,
                "mark": mark,
                "command": list(command),
                "variables": {**self._variables, **variables},
                "join": [str(file) for file in self._slot.group.join_files(freezer)],
            }
            report, report_end = os.pipe()
            life_end, life = os.pipe()
            inherited.callback(os.close, report_end)
            inherited.callback(os.close, life_end)
            handle = inherited.enter_context(sealed_file(json.dumps(settings).encode()))
            line = [sys.executable, "-I", "-S", landlock_launcher.__file__, *map(str, (handle, report_end, life_end))]
            libraries = os.environ.get("LD_LIBRARY_PATH")  # some interpreters need it
            process = await anyio.open_process(
                line,
                stdin=stdin,
                env={"LD_LIBRARY_PATH": libraries} if libraries else {},
                cwd="/",
                pass_fds=(handle, report_end, life_end),
                start_new_session=True,
            )
        started = LandlockCommand(process, report, life, mark, freezer, self._forget)
        self._running.add(started)
        return started

    def _forget(self, ended: "LandlockCommand") -> None:
        """Remove the temporary files of commands when the last of them has ended."""
        self._running.discard(ended)
        if not self._running:
            workspace.empty_folder(self._slot.temporary)

    def _restore_data(self) -> None:
        """Restore the link to the data if code in the lab removed it."""
        link = self._slot.workspace / DATA
        if self._data and not (link.is_symlink() and link.readlink() == self._data):
            with suppress(FileNotFoundError):
                link.rename(self._slot.temporary / random_token())
            workspace.make_link(self._slot.workspace, DATA, str(self._data), owner=self._slot.owner)


class LandlockCommand:
    """A command and its supervisor, which kills everything that the command started when the pipe to it closes."""

    out_of_memory = False  # the lab's control group counts that

    def __init__(
        self,
        process: Process,
        report: int,
        life: int,
        mark: int,
        freezer: Freezer | None,
        forget: Callable[["LandlockCommand"], None],
    ) -> None:
        os.set_blocking(report, False)
        self.process = process
        self.root: int | None = process.pid
        self.expired = False
        self._report, self._report_text = report, b""
        self._life: int | None = life
        self._life_lock = threading.Lock()
        self._mark = mark
        self._forget = forget
        self._freezer = freezer
        self._frozen = False
        self._stopped: frozenset[int] = frozenset()
        self._ending = anyio.Lock()
        self._ended = False

    @property
    def paused(self) -> bool:
        return self._frozen

    async def pause(self) -> None:
        """Freeze the command and everything it started."""
        if self._frozen:
            return
        if self._freezer:
            await anyio.to_thread.run_sync(self._freezer.freeze)
        else:
            self._stopped = await anyio.to_thread.run_sync(freeze_tree, self.process.pid)
        self._frozen = True

    async def unpause(self) -> None:
        """Let it continue after a pause."""
        if self._frozen:
            self._frozen = False
            self._continue()

    def kill_expired(self) -> None:
        """Kill everything because the lab's time is up; does not wait."""
        self.expired = True
        self._let_end()

    async def end(self) -> None:
        """Kill everything that the command started, and wait until all of it is gone."""
        with anyio.CancelScope(shield=True):
            async with self._ending:
                if not self._ended:
                    self._ended = True
                    await self._end()

    def code(self) -> int | None:
        """Return the command's exit code; None if it was killed, or never started."""
        code = self._reported("exit-code")
        return None if code is None or self._reported("error") else int(code)

    def failure(self, stderr: str) -> LabError:
        """Return the error for a sandbox that could not be set up."""
        reason = self._reported("error") or stderr.strip() or "it was killed from outside"
        return LabError(f"the sandbox failed: {reason}")

    def _continue(self) -> None:
        if self._freezer:
            self._freezer.thaw()
        else:
            thaw_tree(self._stopped)

    def _let_end(self) -> None:
        with self._life_lock:
            if self._life is not None:
                os.close(self._life)
                self._life = None
        if self._freezer:
            self._freezer.thaw()
        with suppress(ProcessLookupError, PermissionError):
            if self.process.returncode is None:
                os.kill(self.process.pid, signal.SIGCONT)

    async def _end(self) -> None:
        self._let_end()
        with anyio.move_on_after(_KILL_TIMEOUT) as timeout:
            await self.process.wait()
            if self.process.returncode != 0:  # it was killed from outside, and could not end the others
                await anyio.to_thread.run_sync(kill_marked, range(self._mark, self._mark + 1))
        while text := self._read_report():
            self._report_text += text
        os.close(self._report)
        if self._freezer:
            await anyio.to_thread.run_sync(self._freezer.remove)
        await anyio.to_thread.run_sync(self._forget, self)
        if timeout.cancelled_caught:
            raise LabError("a process in the lab cannot be killed; check for hanging disks or network mounts")

    def _read_report(self) -> bytes:
        try:
            return os.read(self._report, 4096)
        except BlockingIOError:
            return b""

    def _reported(self, name: str) -> str | int | None:
        for line in self._report_text.splitlines():
            content: dict[str, str | int] = json.loads(line)
            if name in content:
                return content[name]
        return None


def check(*, own_user: bool) -> str:
    """Return which Landlock this kernel has; `LabError` if it is not enough for a lab with or without an own user."""
    version = landlock_launcher.landlock_version()
    if version == 0:
        raise LabError(
            f"Landlock is not available in Linux {platform.release()}; it needs 5.13 or newer, and `landlock` in the "
            "kernel's list of security modules (lsm=…)"
        )
    if not own_user and version < _MIN_VERSION_OF_SHARED_USER:
        raise LabError(
            f"Landlock {version} of Linux {platform.release()} cannot keep a lab from signalling your other processes; "
            f"that needs version {_MIN_VERSION_OF_SHARED_USER} (Linux 6.12), or root, who gives each lab its own user"
        )
    return f"Landlock {version}"


def check_for_user() -> str:
    """Return which Landlock labs of this user would have; `LabError` if it is not enough."""
    return check(own_user=os.geteuid() == 0)


def _rules(home: Home, slot: LabSlot, setup: Setup) -> dict[str, list[str]]:
    """Return what the lab may use: parts of the machine's system, and what belongs to the lab."""
    read = [Path(path) for path in _READABLE] + [slot.status] + ([setup.data.resolve()] if setup.data else [])
    run = [*_system_folders(home), setup.environment.resolve()]
    run += [path.resolve() for path in (setup.tools, setup.weights) if path]
    rules = {
        "read": read,
        "run": run,
        "device": [*map(Path, _DEVICES), *setup.devices],
        "memory": [_SHARED_MEMORY] if slot.owner else [],
        "write": [slot.workspace, slot.temporary],
    }
    return {right: [str(path) for path in paths if path.exists()] for right, paths in rules.items()}


def _system_folders(home: Home) -> Iterator[Path]:
    """Yield the parts of /usr without software of the machine's owner, above all Assay and its data."""
    hidden = set(find_hidden_folders(home))
    waiting = [
        path.resolve() for path in map(Path, ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64")) if path.is_dir()
    ]
    while waiting:
        folder = waiting.pop()
        if folder in hidden:
            continue
        if any(folder in path.parents for path in hidden):
            waiting += [path for path in folder.iterdir() if not path.is_symlink()]
        else:
            yield folder


def _sealing(slot: LabSlot) -> Sealing:
    version = check(own_user=slot.owner is not None)
    own = slot.owner is not None
    enforced = {
        "network": "no sockets",
        "files": f"{version}: contents of the lab and of system folders only",
        "processes seen": f"{version}: nothing of /proc that is about a process",
        "system calls": "a deny-list",
        "user": f"user {slot.owner[0]}, without capabilities"
        if slot.owner
        else "the harness's user, no new privileges",
        "disk": slot.disk,
        "memory": "polled, and limited for each process",
        "processes": "a resource limit of the lab's user" if own else "a resource limit above your other processes",
        **slot.group.enforced,
    }
    missing = {limit: reason for limit, reason in slot.group.missing.items() if limit not in enforced}
    missing |= {
        "names of files": "whether a path exists, its size and times can be seen, and where a link leads",
        "process ids": "shared with the machine; which numbers are in use can be seen",
        "host name": "that of the machine",
        "stable paths": "the workspace has another path in each lab, and there is no /proc/self and no /tmp",
        "locks": "files that a lab can read can be locked by it",
    }
    if own:
        missing["shared memory"] = "the machine's /dev/shm; files of the lab's user are removed with the lab"
    else:
        missing |= {
            "own user": "labs run as the harness's user; changes of permissions and times of files have no effect",
            "shared memory": "not available, because /dev/shm cannot be separated; multiprocessing has no semaphores",
        }
    return Sealing("landlock", sealed=True, network="none", enforced=enforced, missing=missing)
