"""The default wall: every command in namespaces of its own, made by `bwrap`, in which nothing but the lab exists."""

import json
import os
import re
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import anyio
from anyio.abc import Process

from assay.core.errors import LabError
from assay.core.home import Home
from assay.lab.environments import INSIDE, TOOLS_INSIDE
from assay.lab.host.slots import LabSlot
from assay.lab.interface import LabPaths, Sealing, Setup
from assay.lab.sandboxes import seccomp
from assay.lab.sandboxes.base import NOT_STARTED, joining, limited, pinned, sealed_file, tool, variables_of
from assay.lab.sandboxes.bwrap_args import STATUS, WORKSPACE, program, walls
from assay.lab.sandboxes.freeze import freeze_tree, thaw_tree

_STARTING_SECONDS = 120.0
_DYING_SECONDS = 30.0


class Bubblewrap:
    """Starts commands in namespaces of their own."""

    def __init__(self, home: Home, slot: LabSlot, setup: Setup) -> None:
        self._slot = slot
        self._filter = seccomp.program(pinned=setup.pinned)
        self._program = [*joining(slot.group), *pinned(setup), *_become(slot), program()]
        self._walls = walls(home, slot, setup)
        self._limits = limited(setup.limits, memory_per_process="memory" not in slot.group.enforced)
        self._variables = variables_of(setup, Path(INSIDE), WORKSPACE)
        self.paths = LabPaths(WORKSPACE, INSIDE, STATUS, TOOLS_INSIDE if setup.tools else None)
        self.sealing = _sealing(slot, setup)

    async def start(self, command: Sequence[str], variables: Mapping[str, str], stdin: int) -> "Sandboxed":
        """Start a command; it is under every limit before its first instruction."""
        group = self._slot.group
        denied = group.refusals(), group.memory_kills()
        # A start that is cancelled half-way would leave a sandbox nobody knows of; it takes milliseconds, so finish it.
        with anyio.CancelScope(shield=True), ExitStack() as open_here:
            status, status_end = os.pipe()
            go_end, go = os.pipe()
            open_here.callback(os.close, go)
            with ExitStack() as given:
                given.callback(os.close, status_end)
                given.callback(os.close, go_end)
                more = {"json-status-fd": status_end, "block-fd": go_end}
                words, handles = given.enter_context(self.words(command, variables, more))
                process = await anyio.open_process(
                    words, stdin=stdin, env={}, cwd="/", pass_fds=handles, start_new_session=True
                )
            started = Sandboxed(process, status)
            try:
                await started.be_ready()
                os.write(go, b"!")
            except BaseException as error:
                await started.end()
                if not isinstance(error, ProcessLookupError | BrokenPipeError):
                    raise
                if (group.refusals(), group.memory_kills()) == denied:  # it ended before it was let go
                    raise started.failure(await _rest(process)) from error
                started.refused = True  # what else runs in the lab has all the processes or memory there may be
        return started

    @contextmanager
    def words(
        self, command: Sequence[str], variables: Mapping[str, str], more: Mapping[str, int] | None = None
    ) -> Iterator[tuple[list[str], tuple[int, ...]]]:
        """The words that start a command in the sandbox, and the open files to hand over with them."""
        settings = [word for item in {**self._variables, **variables}.items() for word in ("--setenv", *item)]
        # Handed over in a file, because the words of a command line can be read in the sandbox.
        options = b"\0".join(map(os.fsencode, [*self._walls, *settings])) + b"\0"
        with sealed_file(options) as told, sealed_file(self._filter) as rules:
            handles = {"args": told, "seccomp": rules, **(more or {})}
            named = [word for name, handle in handles.items() for word in (f"--{name}", str(handle))]
            yield [*self._program, *named, "--", *self._limits, *command], tuple(handles.values())


class Sandboxed:
    """A command in namespaces of its own. When the first process in there dies, the kernel kills all others."""

    out_of_memory = False  # the lab's control group counts that

    def __init__(self, process: Process, status: int) -> None:
        os.set_blocking(status, False)
        self.process = process
        self.root: int | None = None
        self.refused = False
        self._status = status
        self._said = b""
        self._first: int | None = None
        self._ending = anyio.Lock()
        self._ended = False
        self._stopped: frozenset[int] | None = None

    @property
    def paused(self) -> bool:
        """Whether it is held still."""
        return self._stopped is not None

    async def pause(self) -> None:
        """Hold everything in the sandbox still."""
        assert self.root is not None
        if not self.paused:
            self._stopped = await anyio.to_thread.run_sync(freeze_tree, self.root)

    async def unpause(self) -> None:
        """Let it go on after a pause."""
        stopped, self._stopped = self._stopped, None
        thaw_tree(stopped or frozenset())

    async def be_ready(self) -> None:
        """Wait until there is a sandbox, whose first process waits for our word; `ProcessLookupError` if it ends first.

        Only then is that process certain to be the one we keep a handle of.
        """
        with anyio.move_on_after(_STARTING_SECONDS) as patience:
            while b"\n" not in self._said:
                await anyio.wait_readable(self._status)
                if not self._listen():
                    raise ProcessLookupError("bwrap ended before there was a sandbox")
        if patience.cancelled_caught:
            raise LabError("a sandbox does not get ready: does a disk or network file system of this machine hang?")
        first = int(json.loads(self._said.split(b"\n")[0])["child-pid"])
        self._first = os.pidfd_open(first)
        self.root = first

    async def end(self) -> None:
        """Kill everything in the sandbox, and return when all of it is gone."""
        with anyio.CancelScope(shield=True):
            async with self._ending:
                if not self._ended:
                    self._ended = True
                    await self._end()

    def code(self) -> int | None:
        """The command's exit code; None if it was killed, or if the sandbox could not be set up for it."""
        if self.refused:
            return NOT_STARTED
        for line in self._said.splitlines():
            if b"exit-code" in line:
                return int(json.loads(line)["exit-code"])
        return None

    def failure(self, said: str) -> LabError:
        """What bwrap's last words mean, and what to do about it."""
        if re.search(r"No permissions to create|creating new namespace|setting up uid map", said, re.IGNORECASE):
            return LabError(
                "this kernel refuses user namespaces to ordinary users. Allow them with whichever of these exists:\n"
                "  sysctl -w kernel.unprivileged_userns_clone=1\n"
                "  sysctl -w kernel.apparmor_restrict_unprivileged_userns=0\n"
                "  sysctl -w user.max_user_namespaces=10000\n"
                f"({said.strip()})"
            )
        if match := re.search(r"source path (\S+): Permission denied", said):
            return LabError(f"the lab's user cannot reach {match[1]}; make every folder above it passable (chmod o+x)")
        return LabError(f"the sandbox failed: {said.strip() or 'it was killed from outside'}")

    async def _end(self) -> None:
        try:
            with anyio.move_on_after(_DYING_SECONDS) as patience:
                await self._kill()
        finally:
            os.close(self._status)
            if self._first is not None:
                os.close(self._first)
        if patience.cancelled_caught:
            # A process that waits for a disk cannot be killed; we can only go on without it.
            with suppress(ProcessLookupError):
                self.process.kill()
            raise LabError(
                "something in the lab does not die: does a disk or network file system of this machine hang?"
            )

    async def _kill(self) -> None:
        if self._first is None:
            with suppress(ProcessLookupError):
                self.process.kill()
        else:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._first, signal.SIGKILL)
            # The first process counts as dead only when every other one in its namespace is.
            await anyio.wait_readable(self._first)
            # Whoever held the sandbox still may have held bwrap too, which is yet to say how it ended.
            # Not by the process's own method, which would take note of its end before whoever waits for it does.
            with suppress(ProcessLookupError, PermissionError):
                if self.process.returncode is None:
                    os.kill(self.process.pid, signal.SIGCONT)
        await self.process.wait()
        while self._listen():
            await anyio.wait_readable(self._status)

    def _listen(self) -> bool:
        """Take in what bwrap has said of itself; False when it has no more to say."""
        try:
            said = os.read(self._status, 4096)
        except BlockingIOError:
            return True
        self._said += said
        return bool(said)


def _become(slot: LabSlot) -> list[str]:
    """The beginning of a command that makes root the lab's user before there is any sandbox to escape from."""
    if slot.owner is None:
        return []
    user, group = map(str, slot.owner)
    return [tool("setpriv"), "--reuid", user, "--regid", group, "--clear-groups", "--inh-caps=-all", "--"]


def _sealing(slot: LabSlot, setup: Setup) -> Sealing:
    door = ", and a socket to the harness" if setup.network == "models" else ""
    enforced = {
        "network": f"a network namespace without interfaces{door}",
        "files": "a mount namespace with nothing but the lab in it",
        "processes seen": "a process namespace for each command",
        "system calls": "a deny-list",
        "user": f"user {slot.owner[0]}, without capabilities" if slot.owner else "our own user, without capabilities",
        "disk": slot.disk,
        "memory": "polled, and limited for each process",
        "processes": "counted by the kernel in each command's user namespace",
        **slot.group.enforced,
    }
    missing = {limit: why for limit, why in slot.group.missing.items() if limit not in enforced}
    return Sealing("bubblewrap", sealed=True, network=setup.network, enforced=enforced, missing=missing)


async def _rest(process: Process) -> str:
    said = b""
    if process.stderr:
        with suppress(anyio.EndOfStream):
            while len(said) < 10_000:
                said += await process.stderr.receive()
    return said.decode(errors="replace")
