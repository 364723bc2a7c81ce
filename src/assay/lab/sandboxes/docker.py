"""Sandbox `docker`: commands run in Docker or Podman containers, for machines without bubblewrap."""

import os
import shutil
import subprocess
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import anyio
from anyio.abc import Process

from assay.core.disk import random_token
from assay.core.errors import LabError
from assay.core.home import Home
from assay.lab.environments import INSIDE, TOOLS_INSIDE, WEIGHTS_INSIDE
from assay.lab.host.slots import LabSlot
from assay.lab.interface import LabPaths, Sealing, Setup
from assay.lab.sandboxes.base import build_variables, choose_processors

_ENGINE_FAILED = 125


class Docker:
    """Starts each command in a fresh container."""

    own_user, own_cgroups, mounts_data = True, False, True

    def __init__(self, home: Home, slot: LabSlot, setup: Setup) -> None:
        self._engine = find_engine()
        self._prefix = f"{_name_prefix(home)}{slot.folder.name}"
        self._options = _options(self._engine, slot, setup)
        self._image = setup.image
        self._variables = build_variables(setup, Path(INSIDE), "/workspace")
        self.paths = LabPaths("/workspace", INSIDE, "/lab", TOOLS_INSIDE if setup.tools else None)
        self.sealing = _sealing(self._engine, slot, setup)
        _sweep(self._engine, home)

    async def start(
        self, command: Sequence[str], variables: Mapping[str, str], stdin: int, *, freezable: bool = False
    ) -> "ContainerCommand":
        """Start a command in a fresh container."""
        name = f"{self._prefix}-{random_token()}"
        settings = [f"--env={key}={value}" for key, value in {**self._variables, **variables}.items()]
        with anyio.CancelScope(shield=True):
            process = await anyio.open_process(
                [self._engine, "run", "--name", name, *self._options, *settings, self._image, *command],
                stdin=stdin,
                start_new_session=True,
            )
        return ContainerCommand(self._engine, name, process)


class ContainerCommand:
    """A command in a container."""

    def __init__(self, engine: str, name: str, process: Process) -> None:
        self.process = process
        self.root: int | None = None  # the processes belong to the engine
        self.out_of_memory = False
        self.expired = False
        self.paused = False
        self._engine = engine
        self._name = name
        self._killed = False
        self._ending = anyio.Lock()
        self._ended = False

    async def pause(self) -> None:
        """Pause the container."""
        await self._call_engine("pause")
        self.paused = True

    async def unpause(self) -> None:
        """Let it continue after a pause."""
        if self.paused:
            await self._call_engine("unpause")
            self.paused = False

    async def end(self) -> None:
        """Remove the container with everything in it."""
        with anyio.CancelScope(shield=True):
            async with self._ending:
                if not self._ended:
                    await self._end()
                    self._ended = True

    def code(self) -> int | None:
        """Return the command's exit code; None if it was killed, or if the engine could not start it."""
        code = self.process.returncode
        return None if self._killed or code is None or code == _ENGINE_FAILED else code

    def kill_expired(self) -> None:
        """Kill the container because the lab's time is up."""
        self.expired = self._killed = True
        subprocess.run([self._engine, "kill", self._name], capture_output=True)

    def failure(self, stderr: str) -> LabError:
        """Return the error for a message of the engine."""
        return LabError(f"the container engine failed: {stderr.strip() or 'it was killed from outside'}")

    async def _call_engine(self, what: str) -> None:
        with anyio.CancelScope(shield=True):
            done = await anyio.run_process([self._engine, what, self._name], check=False)
        if done.returncode != 0:
            raise self.failure(done.stderr.decode(errors="replace"))

    async def _end(self) -> None:
        self._killed = self._killed or self.process.returncode is None
        inspect = [self._engine, "inspect", "--format", "{{.State.OOMKilled}}", self._name]
        answer = await anyio.run_process(inspect, check=False)
        self.out_of_memory = answer.stdout.strip() == b"true"
        await anyio.run_process([self._engine, "rm", "--force", "--volumes", self._name], check=False)
        with suppress(ProcessLookupError):
            self.process.kill()
        await self.process.wait()


def find_engine() -> str:
    """Return the program of a container engine that responds."""
    reason = "neither docker nor podman is installed"
    for name in ("docker", "podman"):
        if program := shutil.which(name):
            answer = subprocess.run(
                [program, "version", "--format", "{{.Server.Version}}"], capture_output=True, text=True
            )
            if answer.returncode == 0 and answer.stdout.strip():
                return program
            reason = f"{name} does not respond: {answer.stderr.strip() or 'the engine is not running'}"
    raise LabError(f"{reason}; start an engine, or use --sandbox bubblewrap, which needs none")


def _options(engine: str, slot: LabSlot, setup: Setup) -> list[str]:
    limits = setup.limits
    user, group = slot.owner or (os.getuid(), os.getgid())
    mounts = [(slot.workspace, "/workspace", ""), (setup.environment.resolve(), INSIDE, ",readonly")]
    mounts += [(slot.status, "/lab", ",readonly")]
    if setup.tools:
        mounts += [(setup.tools.resolve(), TOOLS_INSIDE, ",readonly")]
    if setup.weights:
        mounts += [(setup.weights.resolve(), WEIGHTS_INSIDE, ",readonly")]
    if setup.data:
        mounts += [(setup.data.resolve(), "/workspace/data", ",readonly")]
    # Without this, rootless Podman maps files to another user.
    keep_user = ["--userns=keep-id"] if Path(engine).name == "podman" and os.geteuid() != 0 else []
    return [
        "--interactive", "--init", "--network=none", "--read-only", "--cap-drop=ALL",
        "--security-opt=no-new-privileges", "--hostname=lab", f"--user={user}:{group}", *keep_user,
        f"--memory={limits.memory}", f"--memory-swap={limits.memory}", f"--pids-limit={limits.processes}",
        f"--cpus={limits.cores}", "--ulimit=core=0:0", "--ulimit=nofile=4096:4096",
        f"--ulimit=fsize={limits.file_size}:{limits.file_size}",
        f"--tmpfs=/tmp:rw,mode=1777,size={limits.memory // 4}", f"--shm-size={limits.memory // 4}",
        *(f"--mount=type=bind,source={source},target={target}{more}" for source, target, more in mounts),
        *([f"--cpuset-cpus={choose_processors(setup)}"] if setup.pinned else []),
        *(f"--device={device}:/dev/{device.name}" for device in setup.devices),
        "--workdir=/workspace",
    ]  # fmt: skip


def _sweep(engine: str, home: Home) -> None:
    """Remove the containers of labs that are gone: an engine keeps them if the harness is killed."""
    listed = subprocess.run([engine, "ps", "--all", "--format", "{{.Names}}"], capture_output=True, text=True)
    prefix = _name_prefix(home)
    for name in listed.stdout.split():
        if name.startswith(prefix) and not (home.labs / name.removeprefix(prefix).rpartition("-")[0]).exists():
            subprocess.run([engine, "rm", "--force", "--volumes", name], capture_output=True)


def _name_prefix(home: Home) -> str:
    return f"assay-{zlib.crc32(os.fsencode(home.root)):08x}-"


def _sealing(engine: str, slot: LabSlot, setup: Setup) -> Sealing:
    by_engine = f"container of {Path(engine).name}"
    protections = ("network", "files", "processes seen", "system calls", "user", "memory", "processes", "cpu")
    enforced = {**dict.fromkeys(protections, by_engine), "disk": slot.disk}
    return Sealing("docker", sealed=True, network=setup.network, enforced=enforced, missing={})
