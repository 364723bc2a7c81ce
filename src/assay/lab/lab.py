"""Open a lab, run commands in it, and access its workspace."""

import os
import subprocess
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TypeVar

import anyio
from anyio.abc import SocketListener, TaskGroup

from assay.core.disk import random_token
from assay.core.errors import LabError, UnsafePath
from assay.core.home import Home
from assay.lab import workspace
from assay.lab.execution import RunningCommand, run_to_end
from assay.lab.host.slots import LabSlot, acquire_slot
from assay.lab.interface import Completed, Lab, LabPaths, Process, SandboxName, Sealing, Setup
from assay.lab.live_process import LiveProcess
from assay.lab.sandboxes import AUTO, SANDBOXES, check_layout
from assay.lab.sandboxes.base import Sandbox, StartedCommand, sealed_file
from assay.lab.sandboxes.bwrap_args import DESCRIPTION
from assay.lab.sandboxes.choice import choose_sandbox
from assay.lab.snapshots import QUOTA_FACTOR, Snapshot, StoreQuota, restore_snapshot, take_snapshot

DATA = "data"
"""The name of the data folder in the workspace."""

T = TypeVar("T")


@asynccontextmanager
async def open_lab(home: Home, setup: Setup, sandbox: SandboxName = AUTO) -> AsyncIterator[Lab]:
    """Open a lab for the duration of the block; nothing of it is left afterwards, however the block ends.

    The calling thread must live as long as the lab: the kernel kills a sandbox with the thread that started it.
    """
    _check(setup)
    failure: Exception | None = None
    host_resources, processes = ExitStack(), AsyncExitStack()
    try:
        if sandbox == AUTO:
            sandbox = (await _in_thread(partial(choose_sandbox, home, setup.network))).name
        kind = SANDBOXES.load(sandbox)
        check_layout(sandbox, setup.layout)
        if setup.links and sandbox != "bubblewrap":
            raise LabError(f"the sandbox {sandbox} cannot show {', '.join(setup.links)}; this lab needs bubblewrap")
        slot_context = acquire_slot(home, setup.limits, own_user=kind.own_user, groups=kind.own_cgroups)
        slot = await _in_thread(partial(host_resources.enter_context, slot_context))
        built = await _in_thread(partial(_build_sandbox, kind, home, slot, setup))
        async with anyio.create_task_group() as tasks:
            lab = SandboxedLab(built, slot, setup, tasks, processes)
            try:
                yield lab
            except Exception as error:  # noqa: BLE001 - raised below as it is, not wrapped in a group
                failure = error
            finally:
                lab.cancel_kill()
                tasks.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await processes.aclose()
            await _in_thread(host_resources.close)
    if failure:
        raise failure


class SandboxedLab:
    """An open lab; see `assay.lab.interface.Lab`."""

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
        self._data = setup.data
        self._without = DATA if setup.data else None
        self._quotas: dict[Path, StoreQuota] = {}
        self._live: set[StartedCommand] = set()
        self._expired = False
        self._kill_timer: threading.Timer | None = None

    async def run(
        self, command: Sequence[str], *, seconds: float, stdin: bytes = b"", variables: Mapping[str, str] | None = None
    ) -> Completed:
        """Run a command in a fresh sandbox, and kill everything it started when it ends or its time is up."""
        self._restore_access()
        with sealed_file(stdin) if stdin else _empty_input() as handle:
            started = await self._sandbox.start(command, variables or {}, handle)
        with self._track(started):
            return await run_to_end(started, self._slot, self._limits, seconds)

    async def start(self, command: Sequence[str], *, variables: Mapping[str, str] | None = None) -> Process:
        """Start a long-lived process; the harness can access the workspace only while it is paused or has ended."""
        self._restore_access()
        started = await self._sandbox.start(command, variables or {}, subprocess.PIPE, freezable=True)
        process = LiveProcess(RunningCommand(started, self._slot, self._limits))

        async def serve() -> None:
            with self._track(started):
                await process.serve()

        self._tasks.start_soon(serve)
        self._processes.push_async_callback(process.close)
        return process

    async def read(self, path: str, *, max_size: int) -> bytes:
        """Return the content of a regular file; `UnsafePath` if it exceeds `max_size`, or is a link, pipe or folder."""
        return await self._at_rest(partial(workspace.read_file, self._slot.workspace, path, max_size=max_size))

    async def write(self, path: str, content: bytes) -> None:
        """Create or replace a regular file, and create missing parent folders."""
        if workspace.split_path(path)[0] == self._without:
            raise UnsafePath(f"{path!r} is in the data folder, which is read-only")
        await self._at_rest(partial(workspace.write_file, self._slot.workspace, path, content, owner=self._slot.owner))

    async def link_data(self) -> None:
        """Link the contents of the data folder into the workspace root as well."""
        make_link = partial(workspace.make_link, self._slot.workspace, owner=self._slot.owner)
        for path in sorted(self._data.iterdir()) if self._data else []:
            await self._at_rest(partial(make_link, path.name, f"{DATA}/{path.name}"))

    async def files(self) -> AsyncIterator[PurePosixPath]:
        """Yield the regular files of the workspace in order of their names, without the data folder."""
        walk = partial(workspace.walk, self._slot.workspace, without=self._without)
        for path in await self._at_rest(lambda: [entry.path for entry in walk() if entry.kind == "file"]):
            yield PurePosixPath(path)

    async def snapshot(self, store: Path, before: Snapshot | None = None) -> Snapshot:
        """Store the content of the workspace in `store`; files unchanged since `before` are not read."""
        if store not in self._quotas:
            self._quotas[store] = await _in_thread(partial(StoreQuota, store, QUOTA_FACTOR * self._limits.disk))
        quota = self._quotas[store]
        take = partial(take_snapshot, max_size=self._limits.disk, without=self._without, quota=quota)
        return await self._at_rest(partial(take, self._slot.workspace, store, before))

    async def restore(self, store: Path, snapshot: Snapshot) -> None:
        """Restore the workspace to a snapshot."""
        restore = partial(restore_snapshot, owner=self._slot.owner, without=self._without)
        await self._at_rest(partial(restore, self._slot.workspace, store, snapshot))

    async def change_stamp(self, path: str) -> tuple[int, ...] | None:
        """Return a value that changes when a regular file does, or None; nothing needs to be paused."""
        return await _in_thread(partial(workspace.change_stamp, self._slot.workspace, path))

    async def listen(self, name: str) -> SocketListener:
        """Listen on a unix socket that the lab sees as `name` in its status folder; requires network `models`.

        Only the lab's user can connect: the socket belongs to that user, in a folder that no other user can enter.
        """
        if self._network != "models":
            raise LabError('code in this lab cannot connect to the harness; open it with network="models"')
        # The path of a socket is limited to 107 characters; this one is short wherever the lab is.
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
        """Replace `budget.json` in the status folder, which the lab can only read."""
        temporary = self._slot.status / f".{random_token()}"
        temporary.write_bytes(content)
        temporary.chmod(0o644)
        temporary.replace(self._slot.status / "budget.json")

    def kill_after(self, seconds: float) -> None:
        """Kill everything that runs in the lab `seconds` from now, even if the event loop is blocked then.

        Commands that are started later are killed at once; the workspace can still be read.
        """
        self.cancel_kill()
        self._kill_timer = threading.Timer(max(0.0, seconds), self._kill_all)
        self._kill_timer.daemon = True
        self._kill_timer.start()

    def cancel_kill(self) -> None:
        """Undo `kill_after`, unless its time has come."""
        if self._kill_timer:
            self._kill_timer.cancel()

    def _kill_all(self) -> None:
        self._expired = True
        for started in list(self._live):
            started.kill_expired()

    @contextmanager
    def _track(self, started: StartedCommand) -> Iterator[None]:
        self._live.add(started)
        if self._expired:
            started.kill_expired()
        try:
            yield
        finally:
            self._live.discard(started)

    def _restore_access(self) -> None:
        """Restore the permission to enter the workspace if code in the lab removed it: nothing else could run."""
        mode = self._slot.workspace.stat().st_mode
        if mode & 0o700 != 0o700:
            self._slot.workspace.chmod(mode & 0o777 | 0o700)

    async def _at_rest(self, work: Callable[[], T]) -> T:
        if any(not started.paused for started in self._live):
            raise LabError("a process is running in the lab; wait for it or pause it before accessing the workspace")
        self._restore_access()
        return await _in_thread(work)


def _check(setup: Setup) -> None:
    if not os.access(setup.environment / "bin/python", os.R_OK):
        raise LabError(f"{setup.environment} is not an environment; run: assay lab build")
    if setup.tools and not setup.tools.is_dir():
        raise LabError(f"{setup.tools} is not an environment; run: assay lab build")
    if setup.weights and not setup.weights.is_dir():
        raise LabError(f"the folder of weights {setup.weights} does not exist")
    if setup.data and not setup.data.is_dir():
        raise LabError(f"the data folder {setup.data} does not exist; prepare the task")


def _build_sandbox(kind: type[Sandbox], home: Home, slot: LabSlot, setup: Setup) -> Sandbox:
    if setup.data and kind.mounts_data:
        (slot.workspace / DATA).mkdir(mode=0o555)
    if setup.layout == "mlebench":
        described = slot.status / DESCRIPTION
        described.write_text(setup.description)
        described.chmod(0o644)
        for name in ("agent", "code", "logs", "submission"):
            workspace.make_folder(slot.workspace, name, owner=slot.owner)
    return kind(home, slot, setup)


async def _in_thread(work: Callable[[], T]) -> T:
    return await anyio.to_thread.run_sync(work)


@contextmanager
def _empty_input() -> Iterator[int]:
    handle = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield handle
    finally:
        os.close(handle)
