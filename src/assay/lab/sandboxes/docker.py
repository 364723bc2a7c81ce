"""Labs in containers of Docker or Podman, for machines that have an engine and no bubblewrap."""

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
from assay.lab.environments import INSIDE, TOOLS_INSIDE
from assay.lab.host.slots import LabSlot
from assay.lab.interface import LabPaths, Sealing, Setup
from assay.lab.sandboxes.base import processors, variables_of

_ENGINE_FAILED = 125


class Docker:
    """Starts commands in containers of their own."""

    def __init__(self, home: Home, slot: LabSlot, setup: Setup) -> None:
        self._engine = engine()
        self._prefix = f"{_mark(home)}{slot.folder.name}"
        self._options = _options(self._engine, slot, setup)
        self._image = setup.image
        self._variables = variables_of(setup, Path(INSIDE), "/workspace")
        self.paths = LabPaths("/workspace", INSIDE, "/lab", TOOLS_INSIDE if setup.tools else None)
        self.sealing = _sealing(self._engine, slot, setup)
        _sweep(self._engine, home)

    async def start(self, command: Sequence[str], variables: Mapping[str, str], stdin: int) -> "Contained":
        """Start a command in a fresh container."""
        name = f"{self._prefix}-{random_token()}"
        settings = [f"--env={key}={value}" for key, value in {**self._variables, **variables}.items()]
        with anyio.CancelScope(shield=True):
            process = await anyio.open_process(
                [self._engine, "run", "--name", name, *self._options, *settings, self._image, *command],
                stdin=stdin,
                start_new_session=True,
            )
        return Contained(self._engine, name, process)


class Contained:
    """A command in a container."""

    def __init__(self, engine: str, name: str, process: Process) -> None:
        self.process = process
        self.root: int | None = None  # the engine's processes are not ours to count
        self.out_of_memory = False
        self.paused = False
        self._engine = engine
        self._name = name
        self._killed = False
        self._ending = anyio.Lock()
        self._ended = False

    async def pause(self) -> None:
        """Let the engine hold the container still."""
        await self._ask_engine("pause")
        self.paused = True

    async def unpause(self) -> None:
        """Let it go on after a pause."""
        if self.paused:
            await self._ask_engine("unpause")
            self.paused = False

    async def end(self) -> None:
        """Remove the container with all that is in it."""
        with anyio.CancelScope(shield=True):
            async with self._ending:
                if not self._ended:
                    await self._end()
                    self._ended = True

    def code(self) -> int | None:
        """The command's exit code; None if it was killed, or if the engine could not start it."""
        code = self.process.returncode
        return None if self._killed or code is None or code == _ENGINE_FAILED else code

    def failure(self, said: str) -> LabError:
        """What the engine said of itself."""
        return LabError(f"the container engine failed: {said.strip() or 'it was killed from outside'}")

    async def _ask_engine(self, what: str) -> None:
        with anyio.CancelScope(shield=True):
            done = await anyio.run_process([self._engine, what, self._name], check=False)
        if done.returncode != 0:
            raise self.failure(done.stderr.decode(errors="replace"))

    async def _end(self) -> None:
        self._killed = self.process.returncode is None
        asked = [self._engine, "inspect", "--format", "{{.State.OOMKilled}}", self._name]
        answer = await anyio.run_process(asked, check=False)
        self.out_of_memory = answer.stdout.strip() == b"true"
        await anyio.run_process([self._engine, "rm", "--force", "--volumes", self._name], check=False)
        with suppress(ProcessLookupError):
            self.process.kill()
        await self.process.wait()


def engine() -> str:
    """The program of a container engine that answers."""
    said = "neither docker nor podman is installed"
    for name in ("docker", "podman"):
        if program := shutil.which(name):
            asked = subprocess.run(
                [program, "version", "--format", "{{.Server.Version}}"], capture_output=True, text=True
            )
            if asked.returncode == 0 and asked.stdout.strip():
                return program
            said = f"{name} does not answer: {asked.stderr.strip() or 'there is no engine behind it'}"
    raise LabError(f"{said}; start an engine, or use --sandbox bubblewrap, which needs none")


def _options(engine: str, slot: LabSlot, setup: Setup) -> list[str]:
    limits = setup.limits
    user, group = slot.owner or (os.getuid(), os.getgid())
    mounts = [(slot.workspace, "/workspace", ""), (setup.environment.resolve(), INSIDE, ",readonly")]
    mounts += [(slot.status, "/lab", ",readonly")]
    if setup.tools:
        mounts += [(setup.tools.resolve(), TOOLS_INSIDE, ",readonly")]
    if setup.data:
        mounts += [(setup.data.resolve(), "/workspace/data", ",readonly")]
    # Rootless Podman gives files to another user unless told to keep ours.
    keep_user = ["--userns=keep-id"] if Path(engine).name == "podman" and os.geteuid() != 0 else []
    return [
        "--interactive", "--init", "--network=none", "--read-only", "--cap-drop=ALL",
        "--security-opt=no-new-privileges", "--hostname=lab", f"--user={user}:{group}", *keep_user,
        f"--memory={limits.memory}", f"--memory-swap={limits.memory}", f"--pids-limit={limits.processes}",
        f"--cpus={limits.cores}", "--ulimit=core=0:0", "--ulimit=nofile=4096:4096",
        f"--ulimit=fsize={limits.file_size}:{limits.file_size}",
        f"--tmpfs=/tmp:rw,mode=1777,size={limits.memory // 4}", f"--shm-size={limits.memory // 4}",
        *(f"--mount=type=bind,source={source},target={target}{more}" for source, target, more in mounts),
        *([f"--cpuset-cpus={processors(setup)}"] if setup.pinned else []),
        *(f"--device={device}:/dev/{device.name}" for device in setup.devices),
        "--workdir=/workspace",
    ]  # fmt: skip


def _sweep(engine: str, home: Home) -> None:
    """Remove the containers of labs that are gone: an engine keeps them when the harness is killed."""
    listed = subprocess.run([engine, "ps", "--all", "--format", "{{.Names}}"], capture_output=True, text=True)
    mark = _mark(home)
    for name in listed.stdout.split():
        if name.startswith(mark) and not (home.labs / name.removeprefix(mark).rpartition("-")[0]).exists():
            subprocess.run([engine, "rm", "--force", "--volumes", name], capture_output=True)


def _mark(home: Home) -> str:
    """How the names of this home's containers begin."""
    return f"assay-{zlib.crc32(os.fsencode(home.root)):08x}-"


def _sealing(engine: str, slot: LabSlot, setup: Setup) -> Sealing:
    by_engine = f"container of {Path(engine).name}"
    walls = ("network", "files", "processes seen", "system calls", "user", "memory", "processes", "cpu")
    enforced = {**dict.fromkeys(walls, by_engine), "disk": slot.disk}
    return Sealing("docker", sealed=True, network=setup.network, enforced=enforced, missing={})
