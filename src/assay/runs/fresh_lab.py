"""Labs that are opened for a single command: what is submitted as code, and scripts that a search runs side by side."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from assay.core.errors import UnsafePath
from assay.core.home import Home
from assay.lab import Lab, Setup, open_lab
from assay.lab.interface import WHOLE, Completed, SandboxName, Share
from assay.lab.snapshots import Snapshot
from assay.records import TrialFile
from assay.records.content_store import ContentStore
from assay.runs.descriptions import description_of
from assay.runs.trial_setup import lab_data, lab_setup, write_starting_files
from assay.tasks import Task

GRACE_SECONDS = 10.0


@dataclass(frozen=True)
class FreshRun:
    """How a command in a fresh lab ended, and the submission that it left, if there is one."""

    completed: Completed
    submission: bytes | None
    sealed: bool


@dataclass(frozen=True)
class FreshLabs:
    """The labs of one trial that have what every agent starts with, and nothing that happened in its own lab."""

    file: TrialFile
    task: Task
    home: Home
    contents: ContentStore
    sandbox: SandboxName
    gpus: tuple[int, ...] = ()

    @property
    def public(self) -> Path:
        """The public data that the agent's own lab has."""
        return lab_data(self.file, self.task, self.home).public

    async def run_command(
        self,
        command: Sequence[str],
        *,
        seconds: float,
        data: Path | None,
        variables: Mapping[str, str],
        files: Mapping[str, bytes] | None = None,
        stdin: bytes = b"",
        share: Share = WHOLE,
        snapshot: Snapshot | None = None,
    ) -> FreshRun:
        """Run a command in a new lab with some files, or in an earlier workspace, and close the lab."""
        setup: Setup = lab_setup(self.file, self.task, self.home, share.of(self.gpus))
        limits = setup.limits
        limits = replace(limits, memory=limits.memory // share.count, cores=limits.cores / share.count)
        setup = replace(setup, data=data, network="none", limits=limits, variables={**setup.variables, **variables})
        async with open_lab(self.home, setup, sandbox=self.sandbox) as lab:
            if snapshot:
                await lab.restore(self.contents.snapshots, snapshot)
            else:
                await write_starting_files(lab, self.task, description_of(self.file, self.task))
            if self.task.submission.file not in self.task.starter:
                await lab.run(["rm", "-rf", "--", self.task.submission.file], seconds=60)
            for path, content in (files or {}).items():
                await lab.write(path, content)
            await lab.write_status(json.dumps({"seconds_left": seconds, "steps_left": 1}).encode())
            deadline = {"DEADLINE": f"{time.time() + seconds:.0f}"}
            lab.kill_after(seconds + GRACE_SECONDS)
            completed = await lab.run(command, seconds=seconds, stdin=stdin, variables={**variables, **deadline})
            return FreshRun(completed, await self._read_submission(lab), lab.sealing.sealed)

    async def run_beside(
        self, command: Sequence[str], seconds: float, stdin: bytes, share: Share
    ) -> tuple[Completed, bytes | None]:
        """Run a command of the agent in a lab beside its own, with its seed."""
        fresh = await self.run_command(
            command, seconds=seconds, data=self.public, variables={}, stdin=stdin, share=share
        )
        return fresh.completed, fresh.submission

    async def _read_submission(self, lab: Lab) -> bytes | None:
        rules = self.task.submission
        try:
            return await lab.read(rules.file, max_size=rules.max_size)
        except UnsafePath:
            return None
