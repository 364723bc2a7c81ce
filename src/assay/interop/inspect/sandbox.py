"""The lab as a sandbox of Inspect: each command runs in its own sandbox, files are read through the lab."""

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
from assay.interop.inspect.machine_lock import machine_lock
from assay.lab import Lab, Limits, SandboxName, Setup, find_environment, workspace
from assay.lab.held import HeldLab
from assay.lab.lab import DATA
from assay.runs.descriptions import Describe, choose_description
from assay.tasks import Registry, Task

# Changes to the folder in the first argument and executes the rest.
_IN_FOLDER = 'cd -- "$1" && shift && exec "$@"'


class LabSpec(Model):
    """The lab of a sample: a task in an edition, with a variant of its data."""

    task: str
    edition: str
    variant: str = "real"
    describe: Describe = "plain"
    sandbox: SandboxName = "auto"

    def load_task(self) -> Task:
        """Return the task with the rules of the edition."""
        return Registry().task(self.task).in_edition(self.edition)

    def description(self, task: Task) -> str:
        """Return the description of the task."""
        choose_description(task, self.describe, None)
        return (task.obfuscated or "") if self.describe == "obfuscated" else task.description


@sandboxenv(name="assay")
class LabSandbox(SandboxEnvironment):
    """A sealed lab with the data and Python of a task, in which the commands of a sample run one at a time."""

    def __init__(self, spec: LabSpec, data: Prepared, held: HeldLab) -> None:
        super().__init__()
        self.spec = spec
        self.data = data
        self.gradings = 0
        self._held = held
        self._turn = anyio.Lock()

    @property
    def lab(self) -> Lab:
        return self._held.lab

    @classmethod
    async def sample_init(
        cls, task_name: str, config: SandboxEnvironmentConfigType | None, metadata: dict[str, str]
    ) -> dict[str, SandboxEnvironment]:
        """Open a lab with the data, the description and the starter code."""
        from assay.runs.trial_setup import (
            write_starting_files,  # slow to import, and Inspect imports this module for all tasks
        )

        if not isinstance(config, LabSpec):
            raise UsageError("The sandbox `assay` works only with Assay's own tasks, e.g. assay/pocket")
        home, task = Home.default(), config.load_task()
        data = load_prepared(home, task, config.edition, config.variant)
        limits = Limits.from_resources(task.resources)
        environment = find_environment(home, task.environment_for(config.variant))
        setup = Setup(environment, data=data.public, limits=limits)
        held = await HeldLab.open(home, setup, config.sandbox)
        try:
            await write_starting_files(held.lab, task, config.description(task))
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
        for environment in environments.values():
            await environment.as_type(LabSandbox)._held.close()

    @classmethod
    def config_deserialize(cls, config: dict[str, Any]) -> LabSpec:
        """Return the specification of the lab from a log."""
        return LabSpec.model_validate(config)

    @classmethod
    def default_concurrency(cls) -> int:
        """Return the number of processors, because most code in labs is CPU-bound."""
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
        """Run a command in the workspace, and kill everything it started."""
        if user is not None:
            raise SandboxUserUnsupportedError("all code in a lab runs as one unprivileged user")
        command = cmd if cwd is None else ["/bin/sh", "-c", _IN_FOLDER, "sh", cwd, *cmd]
        stdin = input.encode() if isinstance(input, str) else input or b""
        async with self._turn, machine_lock().shared():
            variables = await self._publish_budget(timeout) | (env or {})
            ended = await self.lab.run(command, seconds=timeout or math.inf, stdin=stdin, variables=variables)
        if ended.ended == "time":
            raise TimeoutError(f"the command did not end within {timeout} seconds")
        _, limit = LIMITS.get(ended.ended, (None, ""))
        stderr = ended.stderr.text
        if limit:
            stderr += f"\nThe command {limit}.\n"
        return ExecResult(ended.succeeded, ended.code, ended.stdout.text, stderr)

    async def write_file(self, file: str, contents: str | bytes) -> None:
        """Create or replace a file of the workspace."""
        content = contents.encode() if isinstance(contents, str) else contents
        async with self._turn:
            try:
                await self.lab.write(self._path(file), content)
            except UnsafePath as error:
                _raise_for_inspect(error)

    @overload
    async def read_file(self, file: str, text: Literal[True] = True) -> str: ...

    @overload
    async def read_file(self, file: str, text: Literal[False]) -> bytes: ...

    async def read_file(self, file: str, text: bool = True) -> str | bytes:
        """Read a regular file of the workspace or of its data."""
        path, max_size = self._path(file), SandboxEnvironmentLimits.MAX_READ_FILE_SIZE
        async with self._turn:
            try:
                content = await self._read(path, max_size)
            except UnsafePath as error:
                _raise_for_inspect(error)
        return content.decode() if text else content

    async def submission(self) -> tuple[bytes | None, str | None]:
        """Return the submission in the workspace, or why there is none."""
        rules = self.data.task.submission
        async with self._turn:
            try:
                return await self.lab.read(rules.file, max_size=rules.max_size), None
            except UnsafePath as error:
                return None, f"No submission: {error}."

    async def _read(self, path: str, max_size: int) -> bytes:
        top, _, rest = path.partition("/")
        root, file = (self.data.public, rest) if top == DATA and rest else (None, path)
        stamp = workspace.change_stamp(root, file) if root else await self.lab.change_stamp(file)
        if stamp and stamp[1] > max_size:
            raise OutputLimitExceededError(SandboxEnvironmentLimits.MAX_READ_FILE_SIZE_STR, None)
        if root:  # on the host, the data folder of the workspace is an empty mount point
            return await to_thread.run_sync(partial(workspace.read_file, root, file, max_size=max_size))
        return await self.lab.read(file, max_size=max_size)

    def _path(self, file: str) -> str:
        """Return a path of Inspect relative to the workspace."""
        path, workspace = PurePosixPath(file), PurePosixPath(self.lab.paths.workspace)
        if not path.is_absolute():
            return str(path)
        if not path.is_relative_to(workspace):
            raise PermissionError(f"{file} is outside of {workspace}; other files do not persist between commands")
        return str(path.relative_to(workspace))

    async def _publish_budget(self, timeout: int | None) -> dict[str, str]:
        """Write the remaining budget where code in the lab can read it, and return its environment variables."""
        limits = sample_limits()
        left = {"seconds_left": limits.time.remaining, "steps_left": limits.turn.remaining}
        remaining = {name: round(amount, 1) for name, amount in left.items() if amount is not None}
        await self.lab.write_status(json.dumps(remaining).encode())
        seconds = min(timeout or math.inf, remaining.get("seconds_left", math.inf))
        return {"DEADLINE": f"{time.time() + seconds:.0f}"} if seconds < math.inf else {}


def _raise_for_inspect(error: UnsafePath) -> NoReturn:
    """Raise the exception that Inspect's tools expect for a wrong path."""
    if isinstance(error.__cause__, FileNotFoundError):
        raise FileNotFoundError(str(error)) from error
    if isinstance(error.__cause__, IsADirectoryError):
        raise IsADirectoryError(str(error)) from error
    raise PermissionError(str(error)) from error
