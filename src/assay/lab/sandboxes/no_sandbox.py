"""Sandbox `none`: a plain process in the workspace folder. Nothing is sealed, and every record says so."""

import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress

import anyio
from anyio.abc import Process

from assay.core.errors import LabError
from assay.core.home import Home
from assay.lab.host.slots import LabSlot
from assay.lab.interface import LabPaths, Sealing, Setup
from assay.lab.sandboxes.base import apply_rlimits, build_variables, join_cgroups, pin_to_processors
from assay.lab.sandboxes.freeze import freeze_tree, thaw_tree


class NoSandbox:
    """Starts commands as plain processes of the harness's user."""

    own_user, own_cgroups, mounts_data = False, True, False

    def __init__(self, home: Home, slot: LabSlot, setup: Setup) -> None:
        self._slot = slot
        limits = apply_rlimits(setup.limits, memory_per_process="memory" not in slot.group.enforced, processes=False)
        self._limits = [*pin_to_processors(setup), *limits]
        self._variables = build_variables(setup, setup.environment, str(slot.workspace))
        tools = str(setup.tools) if setup.tools else None
        self.paths = LabPaths(str(slot.workspace), str(setup.environment), str(slot.status), tools)
        if setup.data:
            (slot.workspace / "data").symlink_to(setup.data)
        enforced = {"disk": slot.disk, "memory": "polled, and limited for each process", **slot.group.enforced}
        absent = dict.fromkeys(("network", "files", "processes seen", "system calls", "user"), "sandbox none")
        self.sealing = Sealing(
            "none", sealed=False, network="host", enforced=enforced, missing={**absent, **slot.group.missing}
        )

    async def start(
        self, command: Sequence[str], variables: Mapping[str, str], stdin: int, *, freezable: bool = False
    ) -> "PlainCommand":
        """Start a command in a session of its own."""
        with anyio.CancelScope(shield=True):
            process = await anyio.open_process(
                [*join_cgroups(self._slot.group), *self._limits, *command],
                stdin=stdin,
                env={**self._variables, **variables},
                cwd=self._slot.workspace,
                start_new_session=True,
            )
        return PlainCommand(process, self._slot)


class PlainCommand:
    """A command in a plain process group."""

    out_of_memory = False  # the lab's control group counts that

    def __init__(self, process: Process, slot: LabSlot) -> None:
        self.process = process
        self.root: int | None = process.pid
        self.expired = False
        self._slot = slot
        self._stopped: frozenset[int] | None = None

    @property
    def paused(self) -> bool:
        return self._stopped is not None

    async def pause(self) -> None:
        """Stop the command and its descendants; processes that were reparented are not found."""
        if not self.paused:
            self._stopped = await anyio.to_thread.run_sync(freeze_tree, self.process.pid)

    async def unpause(self) -> None:
        """Let it continue after a pause."""
        stopped, self._stopped = self._stopped, None
        thaw_tree(stopped or frozenset())

    def failure(self, stderr: str) -> LabError:
        """Return the error for a command without an exit code."""
        return LabError(f"the command was lost: {stderr.strip()}")

    def kill_expired(self) -> None:
        """Kill the process group because the lab's time is up."""
        self.expired = True
        with suppress(ProcessLookupError):
            if self.process.returncode is None:
                os.killpg(self.process.pid, signal.SIGKILL)

    async def end(self) -> None:
        """Kill the process group; processes that left it run until the lab closes, or beyond without control groups."""
        with anyio.CancelScope(shield=True):
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            await self.process.wait()

    def code(self) -> int | None:
        """Return the exit code in the convention of a shell."""
        code = self.process.returncode
        return 128 - code if code is not None and code < 0 else code
