"""Opening a lab, and what can be done in it."""

import os
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TypeVar

import anyio
from anyio.abc import SocketListener, TaskGroup

from assay.core.disk import random_token
from assay.core.errors import LabError, UnsafePath, UsageError
from assay.core.home import Home
from assay.lab import snapshots, workspace
from assay.lab.execution import RunningCommand, run_to_end
from assay.lab.host import slots
from assay.lab.host.slots import LabSlot
from assay.lab.interface import Completed, Lab, LabPaths, Process, SandboxName, Sealing, Setup
from assay.lab.live_process import LiveProcess
from assay.lab.sandboxes.base import Sandbox, Started, sealed_file
from assay.lab.snapshots import Snapshot

DATA = "data"
"""The name in the workspace under which a lab sees its data."""

Result = TypeVar("Result")


@asynccontextmanager
async def open_lab(home: Home, setup: Setup, sandbox: SandboxName = "bubblewrap") -> AsyncIterator[Lab]:
    """Open a lab for the length of the block; nothing of it is left afterwards, however the block ends.

    The thread that opens it must live as long as it does: the kernel ends a sandbox with the thread that started it.
    """
    _check(setup)
    failure: Exception | None = None
    taken, processes = ExitStack(), AsyncExitStack()
    try:
        acquire_slot = slots.acquire_slot(home, setup.limits, own_user=sandbox != "none", groups=sandbox != "docker")
        slot = await _in_thread(partial(taken.enter_context, acquire_slot))
        wall = await _in_thread(partial(_build, sandbox, home, slot, setup))
        async with anyio.create_task_group() as tasks:
            lab = SandboxedLab(wall, slot, setup, tasks, processes)
            try:
                yield lab
            except Exception as error:  # noqa: BLE001 - told to the caller as it is below, not wrapped in a group
                failure = error
            finally:
                tasks.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await processes.aclose()
            await _in_thread(taken.close)
    if failure:
        raise failure


class SandboxedLab:
    """A lab that is open now: see `assay.lab.interface.Lab`."""

    def __init__(
        self, sandbox: Sandbox, slot: LabSlot, setup: Setup, tasks: TaskGroup, processes: AsyncExitStack
    ) -> None:
        self.sealing: Sealing = sandbox.sealing
        self.paths: LabPaths = sandbox.paths
        self._sandbox = sandbox
        self._slot = slot
        self._limits = setup.limits
        self._network = setup.network
        self._tasks = tasks
        self._processes = processes
        self._without = DATA if setup.data else None
        self._live: set[Started] = set()

    async def run(
        self, command: Sequence[str], *, seconds: float, stdin: bytes = b"", variables: Mapping[str, str] | None = None
    ) -> Completed:
        """Run one command in a sandbox of its own, and end everything it started."""
        with sealed_file(stdin) if stdin else _nothing() as handle:
            started = await self._sandbox.start(command, variables or {}, handle)
        with self._counted(started):
            return await run_to_end(started, self._slot, self._limits, seconds)

    async def start(self, command: Sequence[str], *, variables: Mapping[str, str] | None = None) -> Process:
        """Start a long-lived process; the workspace is read and written by us only while it is paused or over."""
        started = await self._sandbox.start(command, variables or {}, subprocess.PIPE)
        process = LiveProcess(RunningCommand(started, self._slot, self._limits))

        async def serve() -> None:
            with self._counted(started):
                await process.serve()

        self._tasks.start_soon(serve)
        self._processes.push_async_callback(process.close)
        return process

    async def read(self, path: str, *, max_size: int) -> bytes:
        """Return the content of a plain file; `UnsafePath` if it is larger than `max_size`, a link, pipe or folder."""
        return await self._at_rest(partial(workspace.read_file, self._slot.workspace, path, max_size=max_size))

    async def write(self, path: str, content: bytes) -> None:
        """Create or replace a plain file, making the folders above it."""
        if workspace.parts_of(path)[0] == self._without:
            raise UnsafePath(f"{path!r} is in the data folder, which is read-only")
        await self._at_rest(partial(workspace.write_file, self._slot.workspace, path, content, owner=self._slot.owner))

    async def files(self) -> AsyncIterator[PurePosixPath]:
        """The plain files in the workspace, without the data folder, in order of their names."""
        found = partial(workspace.walk, self._slot.workspace, without=self._without)
        for path in await self._at_rest(lambda: [entry.path for entry in found() if entry.kind == "file"]):
            yield PurePosixPath(path)

    async def snapshot(self, store: Path, before: Snapshot | None = None) -> Snapshot:
        """Keep the workspace's present content in `store`; files unchanged since `before` cost nothing."""
        return await self._at_rest(partial(snapshots.take, self._slot.workspace, store, before, without=self._without))

    async def restore(self, store: Path, snapshot: Snapshot) -> None:
        """Make the workspace what it was at `snapshot`."""
        workspace, owner = self._slot.workspace, self._slot.owner
        await self._at_rest(partial(snapshots.restore, workspace, store, snapshot, owner=owner, without=self._without))

    async def change_stamp(self, path: str) -> tuple[int, ...] | None:
        """Something that changes when a plain file does, told without holding anything still; None if there is none."""
        return await _in_thread(partial(workspace.change_stamp, self._slot.workspace, path))

    async def listen(self, name: str) -> SocketListener:
        """Listen on a socket that code in the lab finds as `name` in its status folder; network `models` allows it.

        Nobody but the lab's user can connect to it: nobody else gets into the lab's folder, and the socket is theirs.
        """
        if self._network != "models":
            raise LabError("this lab has no network policy that lets anybody in it speak to the harness")
        # The path of a socket may have 107 letters at the most; this one is short wherever the lab is.
        folder = os.open(self._slot.status, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            path = f"/proc/self/fd/{folder}/{name}"
            listener = await anyio.create_unix_listener(path, mode=0o600)
            if self._slot.owner:
                os.chown(path, *self._slot.owner)
        finally:
            os.close(folder)
        return listener

    async def write_status(self, content: bytes) -> None:
        """Replace what `budget.json` in the lab's read-only status folder says."""
        beside = self._slot.status / f".{random_token()}"
        beside.write_bytes(content)
        beside.chmod(0o644)
        beside.replace(self._slot.status / "budget.json")

    @contextmanager
    def _counted(self, started: Started) -> Iterator[None]:
        self._live.add(started)
        try:
            yield
        finally:
            self._live.discard(started)

    async def _at_rest(self, work: Callable[[], Result]) -> Result:
        if any(not started.paused for started in self._live):
            raise LabError("something runs in the lab; the workspace can be read and written when it has ended")
        return await _in_thread(work)


def _check(setup: Setup) -> None:
    if not os.access(setup.environment / "bin/python", os.R_OK):
        raise LabError(f"{setup.environment} is not an environment; run: assay lab build")
    if setup.tools and not setup.tools.is_dir():
        raise LabError(f"{setup.tools} is not an environment; run: assay lab build")
    if setup.data and not setup.data.is_dir():
        raise LabError(f"the data folder {setup.data} does not exist; prepare the task")


def _build(name: SandboxName, home: Home, slot: LabSlot, setup: Setup) -> Sandbox:
    if name == "none":
        from assay.lab.sandboxes.no_sandbox import Unsealed

        return Unsealed(slot, setup)
    if setup.data:
        (slot.workspace / DATA).mkdir(mode=0o555)
    if name == "bubblewrap":
        from assay.lab.sandboxes.bubblewrap import Bubblewrap

        return Bubblewrap(home, slot, setup)
    if name == "docker":
        from assay.lab.sandboxes.docker import Docker

        return Docker(home, slot, setup)
    raise UsageError(f"no sandbox {name!r}; there is bubblewrap, docker and none")


async def _in_thread(work: Callable[[], Result]) -> Result:
    return await anyio.to_thread.run_sync(work)


@contextmanager
def _nothing() -> Iterator[int]:
    handle = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield handle
    finally:
        os.close(handle)
