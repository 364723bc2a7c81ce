"""Sandbox `none`: a plain process in the workspace folder. It seals nothing, and every record made with it says so."""

import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress

import anyio
from anyio.abc import Process

from assay.core.errors import LabError
from assay.lab.host.slots import LabSlot
from assay.lab.interface import LabPaths, Sealing, Setup
from assay.lab.sandboxes.base import joining, limited, pinned, variables_of
from assay.lab.sandboxes.freeze import freeze_tree, thaw_tree


class Unsealed:
    """Starts commands as plain processes of our own user."""

    def __init__(self, slot: LabSlot, setup: Setup) -> None:
        self._slot = slot
        limits = limited(setup.limits, memory_per_process="memory" not in slot.group.enforced, processes=False)
        self._limits = [*pinned(setup), *limits]
        self._variables = variables_of(setup, setup.environment, str(slot.workspace))
        tools = str(setup.tools) if setup.tools else None
        self.paths = LabPaths(str(slot.workspace), str(setup.environment), str(slot.status), tools)
        if setup.data:
            (slot.workspace / "data").symlink_to(setup.data)
        enforced = {"disk": slot.disk, "memory": "polled, and limited for each process", **slot.group.enforced}
        walls = dict.fromkeys(("network", "files", "processes seen", "system calls", "user"), "sandbox none")
        self.sealing = Sealing(
            "none", sealed=False, network="host", enforced=enforced, missing={**walls, **slot.group.missing}
        )

    async def start(self, command: Sequence[str], variables: Mapping[str, str], stdin: int) -> "Plain":
        """Start a command in a session of its own."""
        with anyio.CancelScope(shield=True):
            process = await anyio.open_process(
                [*joining(self._slot.group), *self._limits, *command],
                stdin=stdin,
                env={**self._variables, **variables},
                cwd=self._slot.workspace,
                start_new_session=True,
            )
        return Plain(process, self._slot)


class Plain:
    """A command as a plain process group."""

    out_of_memory = False  # the lab's control group counts that

    def __init__(self, process: Process, slot: LabSlot) -> None:
        self.process = process
        self.root: int | None = process.pid
        self._slot = slot
        self._stopped: frozenset[int] | None = None

    @property
    def paused(self) -> bool:
        """Whether it is held still."""
        return self._stopped is not None

    async def pause(self) -> None:
        """Hold the command and its descendants still; what has left them is not reached."""
        if not self.paused:
            self._stopped = await anyio.to_thread.run_sync(freeze_tree, self.process.pid)

    async def unpause(self) -> None:
        """Let it go on after a pause."""
        stopped, self._stopped = self._stopped, None
        thaw_tree(stopped or frozenset())

    def failure(self, said: str) -> LabError:
        """There is no sandbox that could fail."""
        return LabError(f"the command was lost: {said.strip()}")

    async def end(self) -> None:
        """Kill the process group; what has left it lives until the lab closes, without control groups even longer."""
        with anyio.CancelScope(shield=True):
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            await self.process.wait()

    def code(self) -> int | None:
        """The exit code, as a shell tells it."""
        code = self.process.returncode
        return 128 - code if code is not None and code < 0 else code
