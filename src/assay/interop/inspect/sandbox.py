"""Our lab as a sandbox of Inspect: every command in a sandbox of its own, every file through the lab's safe reading."""

import json
import math
import os
import time
from functools import partial
from pathlib import PurePosixPath
from typing import Any, Literal, NoReturn, overload

import anyio
from anyio import to_thread
from inspect_ai.util import (
    ExecResult,
    OutputLimitExceededError,
    SandboxEnvironment,
    SandboxEnvironmentConfigType,
    SandboxEnvironmentLimits,
    SandboxUserUnsupportedError,
    sample_limits,
    sandboxenv,
)

from assay.agents.outcomes import LIMITS
from assay.core.errors import UnsafePath, UsageError
from assay.core.home import Home
from assay.core.quantities import Model
from assay.data.store import Prepared, load_prepared
from assay.interop.inspect.holding import HeldLab
from assay.interop.inspect.machine import machine
from assay.lab import Lab, Limits, SandboxName, Setup, find_environment, workspace
from assay.lab.lab import DATA
from assay.runs.descriptions import Describe, chosen_description
from assay.tasks import Registry, Task

# Goes into the folder named first and becomes the rest.
_IN_FOLDER = 'cd -- "$1" && shift && exec "$@"'


class Wanted(Model):
    """Which lab a sample gets: that of a task, by an edition's rules, with a variant of its data."""

    task: str
    edition: str
    variant: str = "real"
    describe: Describe = "plain"
    sandbox: SandboxName = "bubblewrap"

    def found(self) -> Task:
        """The task, as the edition judges it."""
        return Registry().task(self.task).in_edition(self.edition)

    def description(self, task: Task) -> str:
        """The text that describes the task."""
        chosen_description(task, self.describe, None)
        return (task.obfuscated or "") if self.describe == "obfuscated" else task.description


@sandboxenv(name="assay")
class LabSandbox(SandboxEnvironment):
    """A sealed lab with a task's data and Python, in which the commands of a sample run one after the other."""

    def __init__(self, wanted: Wanted, data: Prepared, held: HeldLab) -> None:
        super().__init__()
        self.wanted = wanted
        self.data = data
        self.gradings = 0
        self._held = held
        self._turn = anyio.Lock()

    @property
    def lab(self) -> Lab:
        """The lab itself."""
        return self._held.lab

    @classmethod
    async def sample_init(
        cls, task_name: str, config: SandboxEnvironmentConfigType | None, metadata: dict[str, str]
    ) -> dict[str, SandboxEnvironment]:
        """Open a lab with what every agent finds: the data, the description, and the code to begin with."""
        from assay.runs.trial_setup import furnish  # slow to load, and Inspect loads this module for everybody's tasks

        if not isinstance(config, Wanted):
            raise UsageError("the sandbox `assay` belongs to Assay's own tasks, such as assay/pocket")
        home, task = Home.default(), config.found()
        data = load_prepared(home, task, config.edition, config.variant)
        given = task.resources
        limits = Limits(memory=given.memory, cores=given.cores, disk=given.disk)
        setup = Setup(find_environment(home, task.environment), data=data.public, limits=limits)
        held = await HeldLab.open(home, setup, config.sandbox)
        try:
            await furnish(held.lab, task, config.description(task))
        except BaseException:
            await held.close()
            raise
        return {"default": cls(config, data, held)}

    @classmethod
    async def sample_cleanup(
        cls,
        task_name: str,
        config: SandboxEnvironmentConfigType | None,
        environments: dict[str, SandboxEnvironment],
        interrupted: bool,
    ) -> None:
        """Close the lab."""
        for place in environments.values():
            await place.as_type(LabSandbox)._held.close()

    @classmethod
    def config_deserialize(cls, config: dict[str, Any]) -> Wanted:
        """What a log says of the lab that was wanted."""
        return Wanted.model_validate(config)

    @classmethod
    def default_concurrency(cls) -> int:
        """As many labs at once as there are processors, because most of what runs in them computes."""
        return len(os.sched_getaffinity(0))

    async def exec(
        self,
        cmd: list[str],
        input: str | bytes | None = None,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        user: str | None = None,
        timeout: int | None = None,
        timeout_retry: bool = True,
        concurrency: bool = True,
    ) -> ExecResult[str]:
        """Run a command in the workspace, and end everything that it started."""
        if user is not None:
            raise SandboxUserUnsupportedError("everything in a lab runs as one user, who is not root")
        command = cmd if cwd is None else ["/bin/sh", "-c", _IN_FOLDER, "sh", cwd, *cmd]
        stdin = input.encode() if isinstance(input, str) else input or b""
        async with self._turn, machine().at_work():
            variables = await self._tell_budget(timeout) | (env or {})
            ended = await self.lab.run(command, seconds=timeout or math.inf, stdin=stdin, variables=variables)
        if ended.ended == "time":
            raise TimeoutError(f"the command did not end within {timeout} seconds")
        _, limit = LIMITS.get(ended.ended, (None, ""))
        told = f"{ended.stderr.text}\nThe command {limit}.\n" if limit else ended.stderr.text
        return ExecResult(ended.succeeded, ended.code, ended.stdout.text, told)

    async def write_file(self, file: str, contents: str | bytes) -> None:
        """Create or replace a file of the workspace."""
        content = contents.encode() if isinstance(contents, str) else contents
        async with self._turn:
            try:
                await self.lab.write(self._path(file), content)
            except UnsafePath as error:
                _refuse(error)

    @overload
    async def read_file(self, file: str, text: Literal[True] = True) -> str: ...

    @overload
    async def read_file(self, file: str, text: Literal[False]) -> bytes: ...

    async def read_file(self, file: str, text: bool = True) -> str | bytes:
        """Read a plain file of the workspace, or of the data in it."""
        path, most = self._path(file), SandboxEnvironmentLimits.MAX_READ_FILE_SIZE
        async with self._turn:
            try:
                content = await self._read(path, most)
            except UnsafePath as error:
                _refuse(error)
        return content.decode() if text else content

    async def submission(self) -> tuple[bytes | None, str | None]:
        """What lies in the workspace as submission now, or why there is none."""
        wanted = self.data.task.submission
        async with self._turn:
            try:
                return await self.lab.read(wanted.file, max_size=wanted.max_size), None
            except UnsafePath as error:
                return None, f"Nothing was handed in: {error}."

    async def _read(self, path: str, most: int) -> bytes:
        top, _, rest = path.partition("/")
        root, file = (self.data.public, rest) if top == DATA and rest else (None, path)
        stamp = workspace.change_stamp(root, file) if root else await self.lab.change_stamp(file)
        if stamp and stamp[1] > most:
            raise OutputLimitExceededError(SandboxEnvironmentLimits.MAX_READ_FILE_SIZE_STR, None)
        if root:  # in the workspace as the host sees it, the data is an empty folder
            return await to_thread.run_sync(partial(workspace.read_file, root, file, max_size=most))
        return await self.lab.read(file, max_size=most)

    def _path(self, file: str) -> str:
        """A path as Inspect gives it, relative to the workspace."""
        path, workspace = PurePosixPath(file), PurePosixPath(self.lab.paths.workspace)
        if not path.is_absolute():
            return str(path)
        if not path.is_relative_to(workspace):
            raise PermissionError(f"{file} is not in {workspace}, and only what is lasts from one command to the next")
        return str(path.relative_to(workspace))

    async def _tell_budget(self, timeout: int | None) -> dict[str, str]:
        """Put what is left where code in the lab can read it, and say what it finds in its variables."""
        limits = sample_limits()
        left = {"seconds_left": limits.time.remaining, "steps_left": limits.turn.remaining}
        told = {name: round(amount, 1) for name, amount in left.items() if amount is not None}
        await self.lab.write_status(json.dumps(told).encode())
        seconds = min(timeout or math.inf, told.get("seconds_left", math.inf))
        return {"DEADLINE": f"{time.time() + seconds:.0f}"} if seconds < math.inf else {}


def _refuse(error: UnsafePath) -> NoReturn:
    """Say in the words that Inspect's tools know what is wrong with a path."""
    if isinstance(error.__cause__, FileNotFoundError):
        raise FileNotFoundError(str(error)) from error
    if isinstance(error.__cause__, IsADirectoryError):
        raise IsADirectoryError(str(error)) from error
    raise PermissionError(str(error)) from error
