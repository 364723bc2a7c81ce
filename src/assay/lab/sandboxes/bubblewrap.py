"""The default sandbox: `bwrap` gives every command its own namespaces, in which only the lab exists."""

import json
import os
import re
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import anyio
from anyio.abc import Process

from assay.core.errors import LabError
from assay.core.home import Home
from assay.lab.environments import INSIDE, TOOLS_INSIDE
from assay.lab.host.cgroups import Freezer
from assay.lab.host.slots import LabSlot
from assay.lab.interface import LabPaths, Layout, Sealing, Setup
from assay.lab.sandboxes import seccomp
from assay.lab.sandboxes.base import (
    NOT_STARTED,
    apply_rlimits,
    build_variables,
    find_tool,
    join_cgroups,
    pin_to_processors,
    sealed_file,
)
from assay.lab.sandboxes.bwrap_args import STATUS, WORKSPACES, build_arguments, find_bwrap, version
from assay.lab.sandboxes.freeze import freeze_tree, thaw_tree
from assay.lab.workspace import Owner

_START_TIMEOUT = 120.0
_KILL_TIMEOUT = 30.0
# In the sandbox and not by bwrap, whose failures count as those of the machine: other code in the lab may have removed
# the permission to enter the workspace.
_ENTER = ["/bin/sh", "-c", f'cd "$0" || exit {NOT_STARTED}; exec "$@"']


class Bubblewrap:
    """Starts each command in its own namespaces."""

    own_user, own_cgroups, mounts_data = True, True, True
    layouts: tuple[Layout, ...] = ("workspace", "mlebench")

    def __init__(self, home: Home, slot: LabSlot, setup: Setup) -> None:
        self._slot = slot
        self._filter = seccomp.build_filter(pinned=setup.pinned, memory_counted="memory" in slot.group.enforced)
        self._program = [*pin_to_processors(setup), *_drop_root(slot.owner), find_bwrap()]
        self._join = join_cgroups(slot.group)
        self._arguments = build_arguments(home, slot, setup)
        self._limits = apply_rlimits(setup.limits, memory_per_process="memory" not in slot.group.enforced)
        workspace = WORKSPACES[setup.layout]
        self._enter = [*_ENTER, workspace]
        self._variables = build_variables(setup, Path(INSIDE), workspace)
        self.paths = LabPaths(workspace, INSIDE, STATUS, TOOLS_INSIDE if setup.tools else None, setup.layout)
        self.sealing = _sealing(slot, setup)

    async def start(
        self, command: Sequence[str], variables: Mapping[str, str], stdin: int, *, freezable: bool = False
    ) -> "BubblewrapCommand":
        """Start a command; all limits are in force before its first instruction."""
        group = self._slot.group
        denials = group.refusals(), group.memory_kills()
        freezer = group.make_freezer() if freezable else None
        # A start cancelled half-way would leave an unknown sandbox behind; it takes milliseconds, so finish it.
        with anyio.CancelScope(shield=True), ExitStack() as open_here:
            status, status_end = os.pipe()
            go_end, go = os.pipe()
            open_here.callback(os.close, go)
            with ExitStack() as inherited:
                inherited.callback(os.close, status_end)
                inherited.callback(os.close, go_end)
                descriptors = {"json-status-fd": status_end, "block-fd": go_end}
                line, handles = inherited.enter_context(self.command_line(command, variables, descriptors, freezer))
                process = await anyio.open_process(
                    line, stdin=stdin, env={}, cwd="/", pass_fds=handles, start_new_session=True
                )
            started = BubblewrapCommand(process, status, freezer)
            try:
                await started.wait_until_ready()
                os.write(go, b"!")
            except BaseException as error:
                await started.end()
                if not isinstance(error, ProcessLookupError | BrokenPipeError):
                    raise
                if (group.refusals(), group.memory_kills()) == denials:
                    raise started.failure(await _read_rest(process)) from error
                started.refused = True  # the lab's other processes have used up its processes or memory
        return started

    @contextmanager
    def command_line(
        self,
        command: Sequence[str],
        variables: Mapping[str, str],
        descriptors: Mapping[str, int] | None = None,
        freezer: Freezer | None = None,
    ) -> Iterator[tuple[list[str], tuple[int, ...]]]:
        """Yield the command line that starts a command in the sandbox, and the descriptors it must inherit."""
        settings = [word for item in {**self._variables, **variables}.items() for word in ("--setenv", *item)]
        # In a file, because the command line of bwrap can be read in the sandbox.
        options = b"\0".join(map(os.fsencode, [*self._arguments, *settings])) + b"\0"
        join = join_cgroups(self._slot.group, freezer) if freezer else self._join
        with sealed_file(options) as arguments, sealed_file(self._filter) as rules:
            handles = {"args": arguments, "seccomp": rules, **(descriptors or {})}
            flags = [word for name, handle in handles.items() for word in (f"--{name}", str(handle))]
            yield [*join, *self._program, *flags, "--", *self._enter, *self._limits, *command], tuple(handles.values())


class BubblewrapCommand:
    """A command in its own namespaces. When the first process in there dies, the kernel kills all others."""

    out_of_memory = False  # the lab's control group counts that

    def __init__(self, process: Process, status: int, freezer: Freezer | None = None) -> None:
        os.set_blocking(status, False)
        self.process = process
        self.root: int | None = None
        self.refused = False
        self.expired = False
        self._freezer = freezer
        self._kill_lock = threading.Lock()
        self._status = status
        self._status_text = b""
        self._first: int | None = None
        self._ending = anyio.Lock()
        self._ended = False
        self._frozen = False
        self._stopped: frozenset[int] = frozenset()

    @property
    def paused(self) -> bool:
        return self._frozen

    async def pause(self) -> None:
        """Freeze everything in the sandbox."""
        assert self.root is not None
        if self._frozen:
            return
        if self._freezer:
            await anyio.to_thread.run_sync(self._freezer.freeze)
        else:
            self._stopped = await anyio.to_thread.run_sync(freeze_tree, self.root)
        self._frozen = True

    async def unpause(self) -> None:
        """Let it continue after a pause."""
        if not self._frozen:
            return
        self._frozen = False
        if self._freezer:
            self._freezer.thaw()
        else:
            thaw_tree(self._stopped)

    async def wait_until_ready(self) -> None:
        """Wait until the first process of the sandbox is blocked; `ProcessLookupError` if it ends first.

        Only while it is blocked is its process id certain to be its own.
        """
        with anyio.move_on_after(_START_TIMEOUT) as timeout:
            while b"\n" not in self._status_text:
                await anyio.wait_readable(self._status)
                if not self._read_status():
                    raise ProcessLookupError("bwrap ended before there was a sandbox")
        if timeout.cancelled_caught:
            raise LabError(
                f"the sandbox did not start within {_START_TIMEOUT:g} s; check for hanging disks or network mounts"
            )
        first = int(json.loads(self._status_text.split(b"\n")[0])["child-pid"])
        self._first = os.pidfd_open(first)
        self.root = first

    async def end(self) -> None:
        """Kill everything in the sandbox, and wait until all of it is gone."""
        with anyio.CancelScope(shield=True):
            async with self._ending:
                if not self._ended:
                    self._ended = True
                    await self._end()

    def kill_expired(self) -> None:
        """Kill everything in the sandbox because the lab's time is up; does not wait."""
        with self._kill_lock, suppress(ProcessLookupError):
            if self._first is not None:
                self.expired = True
                signal.pidfd_send_signal(self._first, signal.SIGKILL)
                if self._freezer:
                    self._freezer.thaw()

    def code(self) -> int | None:
        """Return the command's exit code; None if it was killed, or if the sandbox could not be set up."""
        if self.refused:
            return NOT_STARTED
        for line in self._status_text.splitlines():
            if b"exit-code" in line:
                return int(json.loads(line)["exit-code"])
        return None

    def failure(self, stderr: str) -> LabError:
        """Return the error for a message of bwrap, and what to do about it."""
        return _explain(stderr)

    async def _end(self) -> None:
        try:
            with anyio.move_on_after(_KILL_TIMEOUT) as timeout:
                await self._kill()
        finally:
            os.close(self._status)
            with self._kill_lock:
                if self._first is not None:
                    os.close(self._first)
                self._first = None
            if self._freezer:
                await anyio.to_thread.run_sync(self._freezer.remove)
        if timeout.cancelled_caught:
            # A process that waits for a disk cannot be killed; continue without it.
            with suppress(ProcessLookupError):
                self.process.kill()
            raise LabError("a process in the lab cannot be killed; check for hanging disks or network mounts")

    async def _kill(self) -> None:
        if self._first is None:
            with suppress(ProcessLookupError):
                self.process.kill()
        else:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._first, signal.SIGKILL)
            if self._freezer:
                self._freezer.thaw()  # a frozen process does not die
            # The first process counts as dead only when every other one in its namespace is.
            await anyio.wait_readable(self._first)
            # The outer bwrap may have been stopped with the sandbox, and must still report how it ended. Not with the
            # process's own method, which would reap it before the task that waits for it does.
            with suppress(ProcessLookupError, PermissionError):
                if self.process.returncode is None:
                    os.kill(self.process.pid, signal.SIGCONT)
        await self.process.wait()
        while self._read_status():
            await anyio.wait_readable(self._status)

    def _read_status(self) -> bool:
        """Read bwrap's status messages; False at their end."""
        try:
            text = os.read(self._status, 4096)
        except BlockingIOError:
            return True
        self._status_text += text
        return bool(text)


def _explain(stderr: str) -> LabError:
    """Return the error for a message of bwrap, and what to do about it."""
    if re.search(r"No permissions to create|creating new namespace|setting up uid map", stderr, re.IGNORECASE):
        return LabError(
            "this kernel does not allow user namespaces for ordinary users. Enable them with the one that exists:\n"
            "  sysctl -w kernel.unprivileged_userns_clone=1\n"
            "  sysctl -w kernel.apparmor_restrict_unprivileged_userns=0\n"
            "  sysctl -w user.max_user_namespaces=10000\n"
            f"({stderr.strip()})"
        )
    if match := re.search(r"source path (\S+): Permission denied", stderr):
        return LabError(f"the lab's user cannot access {match[1]}; run chmod o+x on every folder above it")
    return LabError(f"the sandbox failed: {stderr.strip() or 'it was killed from outside'}")


def check() -> str:
    """Return which bwrap there is, after starting a command in namespaces; `LabError` if that fails."""
    bwrap = find_bwrap()
    nobody = (65534, 65534) if os.geteuid() == 0 else None
    options = ["--unshare-all", "--unshare-user", "--disable-userns", "--ro-bind", "/", "/", "--proc", "/proc"]
    done = subprocess.run([*_drop_root(nobody), bwrap, *options, "/bin/true"], capture_output=True, text=True)
    if done.returncode != 0:
        raise _explain(done.stderr)
    return f"{bwrap}, version {'.'.join(map(str, version(bwrap)))}"


def _drop_root(owner: Owner | None) -> list[str]:
    """Return the command prefix that switches from root to the lab's user, before the sandbox is created."""
    if owner is None:
        return []
    user, group = map(str, owner)
    return [find_tool("setpriv"), "--reuid", user, "--regid", group, "--clear-groups", "--inh-caps=-all", "--"]


def _sealing(slot: LabSlot, setup: Setup) -> Sealing:
    socket = ", and a socket to the harness" if setup.network == "models" else ""
    enforced = {
        "network": f"a network namespace without interfaces{socket}",
        "files": "a mount namespace that contains only the lab",
        "processes seen": "a process namespace for each command",
        "system calls": "a deny-list",
        "user": f"user {slot.owner[0]}, without capabilities"
        if slot.owner
        else "the harness's user, without capabilities",
        "disk": slot.disk,
        "memory": "polled, and limited for each process",
        "processes": "counted by the kernel in each command's user namespace",
        **slot.group.enforced,
    }
    missing = {limit: reason for limit, reason in slot.group.missing.items() if limit not in enforced}
    return Sealing("bubblewrap", sealed=True, network=setup.network, enforced=enforced, missing=missing)


async def _read_rest(process: Process) -> str:
    text = b""
    if process.stderr:
        with suppress(anyio.EndOfStream):
            while len(text) < 10_000:
                text += await process.stderr.receive()
    return text.decode(errors="replace")
