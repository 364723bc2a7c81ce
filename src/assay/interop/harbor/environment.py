"""A lab as an environment of Harbor: `harbor run --environment-import-path assay.interop.harbor.environment:Lab`.

Every command runs in a sandbox of its own without network, which ends with everything it started. Harbor's folders
`/logs`, `/tests` and `/solution` are folders of the workspace. The verifier of a task that Assay exported is graded
outside of the lab, because the grader opens labs itself; scripts of other tasks run only inside.
"""

import json
import math
import shutil
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import anyio
from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.environments.capabilities import EnvironmentCapabilities
from harbor.utils.scripts import build_execution_command

from assay.core.disk import random_token
from assay.core.errors import LabError, UnsafePath
from assay.core.home import Home
from assay.data.publish import publish
from assay.interop.harbor.verifier import Rubric, grade_rewards, read_rubric
from assay.lab.environments import find_environment
from assay.lab.held import HeldLab
from assay.lab.interface import Limits, Setup

_INSIDE = ".harbor"
_LINKS: Mapping[str, str] = {f"/{name}": f"{_INSIDE}/{name}" for name in ("logs", "tests", "solution")}
_LOGS = "/logs/verifier"
_DEFAULT_ENVIRONMENT = "core"
_MAX_FILE = 2 * 2**30
_COMMAND = 'cd -- "$1" && exec /bin/bash -c "$2"'


class Lab(BaseEnvironment):  # type: ignore[misc, unused-ignore]  # Harbor needs a newer Python than Assay
    """A sealed lab with the data and packages of an exported task."""

    _held: HeldLab | None = None
    _published: Path | None = None

    @staticmethod
    def type() -> str:
        """Return the name of this kind of environment."""
        return "assay"

    @property
    def capabilities(self) -> EnvironmentCapabilities:
        """What a lab can do: it never has a network."""
        return EnvironmentCapabilities(disable_internet=True)

    def _validate_definition(self) -> None:
        self._rubric: Rubric | None = read_rubric(Path(self.environment_dir))
        self._verifies = (Path(self.environment_dir) / "test.sh").is_file()
        self._turn = anyio.Lock()
        if self.task_env_config.docker_image:
            raise LabError(
                f"{self.environment_name} needs the image {self.task_env_config.docker_image}; labs have none"
            )

    async def start(self, force_build: bool) -> None:
        """Open the lab with the task's data and starting files."""
        home, rubric, folder = Home.default(), self._rubric, Path(self.environment_dir)
        agents = rubric is not None and not self._verifies
        if agents and rubric and rubric.data == "prepared":
            data: Path | None = rubric.load(folder).public
        elif agents and (folder / "data").is_dir():
            data = self._published = await anyio.to_thread.run_sync(_publish_copy, home, folder / "data")
        else:
            data = None
        setup = Setup(
            environment=find_environment(home, rubric.environment if rubric else _DEFAULT_ENVIRONMENT),
            data=data,
            limits=_limits(self.task_env_config),
            links=_LINKS,
        )
        self._held = await HeldLab.open(home, setup, "bubblewrap")
        folders = " ".join(
            [*_LINKS.values(), *(f"{_INSIDE}/logs/{name}" for name in ("agent", "verifier", "artifacts"))]
        )
        await self._run(f"mkdir -p {folders}", "/workspace", {}, 60)
        if not self._verifies and (folder / "workspace").is_dir():
            await self.upload_dir(folder / "workspace", "/workspace")

    async def stop(self, delete: bool) -> None:
        """Close the lab; nothing of it is left."""
        if self._held:
            await self._held.close()
        if self._published:
            await anyio.to_thread.run_sync(shutil.rmtree, self._published)
        self._held = self._published = None

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        """Run a command in a sandbox of its own; all code in a lab runs as one unprivileged user."""
        if self._verifies and self._rubric and command == _test_command(self.os):
            await self._grade(self._rubric)
            return ExecResult(stdout="", stderr="", return_code=0)
        variables = {name: str(value) for name, value in {**self._persistent_env, **(env or {})}.items()}
        for overlay in self._exec_env_overlays.get():
            variables |= overlay
        return await self._run(command, cwd or self.task_env_config.workdir or "/workspace", variables, timeout_sec)

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        """Copy a file of the machine into the lab."""
        content = await anyio.Path(source_path).read_bytes()
        async with self._turn:
            await self._lab.write(_inside(target_path), content)

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        """Copy the files of a folder of the machine into the lab."""
        for path in sorted(Path(source_dir).rglob("*")):
            if path.is_file():
                relative = path.relative_to(source_dir).as_posix()
                await self.upload_file(path, f"{target_dir}/{relative}")
        scripts = " ".join(f"{target_dir}/{path.name}" for path in Path(source_dir).glob("*.sh"))
        if scripts:
            await self._run(f"chmod +x {scripts}", "/workspace", {}, 60)

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        """Copy a regular file of the lab to the machine; `FileNotFoundError` if it is none."""
        async with self._turn:
            try:
                content = await self._lab.read(_inside(source_path), max_size=_MAX_FILE)
            except UnsafePath as error:
                raise FileNotFoundError(str(error)) from error
        target = Path(target_path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        """Copy the regular files of a folder of the lab to the machine."""
        folder = PurePosixPath(_inside(source_dir))
        async with self._turn:
            files = [path async for path in self._lab.files() if path.is_relative_to(folder)]
        Path(target_dir).mkdir(parents=True, exist_ok=True)
        for path in files:
            await self.download_file(f"/workspace/{path}", Path(target_dir) / path.relative_to(folder))

    @property
    def _lab(self) -> Any:
        if self._held is None:
            raise LabError("the environment was not started")
        return self._held.lab

    async def _run(self, command: str, cwd: str, variables: dict[str, str], seconds: int | None) -> ExecResult:
        words = ["/bin/sh", "-c", _COMMAND, "sh", cwd, command]
        async with self._turn:
            ended = await self._lab.run(words, seconds=seconds or math.inf, variables=variables)
        if ended.ended == "time":
            raise TimeoutError(f"the command did not end within {seconds} seconds")
        return ExecResult(stdout=ended.stdout.text, stderr=ended.stderr.text, return_code=ended.code)

    async def _grade(self, rubric: Rubric) -> None:
        folder = Path(self.environment_dir)
        max_size = rubric.load(folder).task.submission.max_size
        async with self._turn:
            try:
                content: bytes | None = await self._lab.read(rubric.submission, max_size=max_size)
            except UnsafePath:
                content = None
            grade, rewards = await grade_rewards(content, folder, rubric)
            await self._lab.write(_inside(f"{_LOGS}/grade.json"), grade.model_dump_json(indent=2).encode())
            await self._lab.write(_inside(f"{_LOGS}/reward.json"), json.dumps(rewards).encode())


def _inside(path: str | PurePosixPath) -> str:
    """Return a path of Harbor relative to the workspace."""
    absolute = PurePosixPath("/workspace") / path
    if absolute.is_relative_to("/workspace"):
        return str(absolute.relative_to("/workspace"))
    for link, folder in _LINKS.items():
        if absolute.is_relative_to(link):
            return str(PurePosixPath(folder) / absolute.relative_to(link))
    raise LabError(f"{path} is outside of /workspace, /logs, /tests and /solution, which is all that a lab keeps")


def _test_command(os: Any) -> str:
    """Return the command with which Harbor runs the tests."""
    return str(build_execution_command("/tests/test.sh", stdout_path=f"{_LOGS}/test-stdout.txt", task_os=os))


def _limits(config: Any) -> Limits:
    default = Limits()
    return Limits(
        cores=config.cpus or default.cores,
        memory=(config.memory_mb or 0) * 2**20 or default.memory,
        disk=(config.storage_mb or 0) * 2**20 or default.disk,
    )


def _publish_copy(home: Home, data: Path) -> Path:
    """Copy public files to a folder with a random name, as labs see no other: the mount shows its path."""
    scratch, public = home.public / f".{random_token()}", home.public / random_token()
    shutil.copytree(data, scratch)
    publish(scratch, public)
    shutil.rmtree(scratch)
    return public
