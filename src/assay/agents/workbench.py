"""What an agent is given: the task's public side, the lab, and what is left of its budget. Every act is recorded."""

import json
import time
from collections.abc import Sequence
from pathlib import Path

from assay.errors import UnsafePath
from assay.lab.interface import Completed, Lab
from assay.lab.snapshots import Snapshot
from assay.records import Clock, EventLog
from assay.tasks import Task


class Workbench:
    """The one way for an agent to act: commands and files in the lab, under a budget, all of it in the record."""

    def __init__(self, task: Task, lab: Lab, clock: Clock, log: EventLog, seed: int, snapshots: Path) -> None:
        self.task = task
        self.seed = seed
        self.clock = clock
        self._lab = lab
        self._log = log
        self._store = snapshots
        self._last: Snapshot | None = None

    async def run(self, command: Sequence[str], *, seconds: float | None = None) -> Completed:
        """Run a command in the workspace as one step, for at most `seconds` and never past the deadline."""
        self.clock.step()
        allowed = min(seconds or self.clock.seconds_left, self.clock.seconds_left)
        self._log.append("action", step=self.clock.steps, action="run", command=list(command), seconds=allowed)
        await self._tell_budget()
        variables = {"SEED": str(self.seed), "DEADLINE": f"{time.time() + allowed:.0f}"}
        completed = await self._lab.run(command, seconds=allowed, variables=variables)
        self._log.append(
            "observation",
            step=self.clock.steps,
            ended=completed.ended,
            code=completed.code,
            stdout=completed.stdout.text,
            stderr=completed.stderr.text,
            seconds=round(completed.seconds, 3),
        )
        await self.snapshot()
        return completed

    async def write(self, path: str, content: str | bytes) -> None:
        """Put a file into the workspace."""
        data = content.encode() if isinstance(content, str) else content
        await self._lab.write(path, data)
        self._log.append("action", step=self.clock.steps, action="write", path=path, size=len(data))

    async def read(self, path: str, *, most: int = 10**7) -> bytes:
        """Read a plain file of the workspace."""
        return await self._lab.read(path, most=most)

    async def submission(self) -> tuple[bytes | None, str | None]:
        """What lies in the workspace as submission now, or why there is none."""
        wanted = self.task.submission
        try:
            return await self._lab.read(wanted.file, most=wanted.max_size), None
        except UnsafePath as error:
            return None, f"nothing was handed in: {error}"

    async def snapshot(self) -> None:
        """Keep what the workspace holds now; files that did not change cost nothing."""
        self._last = await self._lab.snapshot(self._store, self._last)
        self._log.append("snapshot", step=self.clock.steps, id=self._last.id)

    async def _tell_budget(self) -> None:
        left = {"seconds_left": round(self.clock.seconds_left, 1), "steps_left": self.clock.steps_left}
        await self._lab.status(json.dumps(left).encode())
