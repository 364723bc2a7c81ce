"""Sandboxes `podman` and `docker`: each command runs in a fresh container; Podman also works for ordinary users.

The image is made on this machine and holds nothing but empty folders and a few files of /etc: the programs are those of
the machine, mounted read-only, as in a bubblewrap lab. So nothing is downloaded, and the C library always fits.
"""

import io
import os
import shutil
import subprocess
import tarfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import anyio
from anyio.abc import Process

from assay.core.disk import random_token
from assay.core.errors import LabError
from assay.core.home import Home
from assay.lab.environments import INSIDE, TOOLS_INSIDE, WEIGHTS_INSIDE
from assay.lab.host.slots import LabSlot
from assay.lab.interface import LabPaths, Sealing, Setup
from assay.lab.sandboxes import seccomp
from assay.lab.sandboxes.base import build_variables, choose_processors, pin_to_processors, rlimit_values
from assay.lab.sandboxes.bwrap_args import ETC_FOLDERS, STATUS, WORKSPACE, find_hidden_folders, make_etc, system_links
from assay.lab.sandboxes.freeze import freeze_tree, thaw_tree

_ENGINE_FAILED = 125
_PID = "pid"
_STATE = "{{.State.OOMKilled}} {{.State.StartedAt.Unix}} {{.State.Status}} {{.State.ExitCode}}"
_REMOVALS = 20
_PAUSES = 20  # with control groups of version 1, freezing processes that start others fails now and then
_IMAGE = "localhost/assay-lab"
_MOUNT_POINTS = (
    "dev",
    "lab",
    "opt/env",
    "opt/tools",
    "opt/weights",
    "proc",
    "run",
    "sys",
    "tmp",
    "usr",
    "var",
    "workspace",
)
# Files below /proc that reveal facts about the host and other labs.
_MASKED = ":".join(f"/proc/{name}" for name in ("cmdline", "config.gz", "diskstats", "fs", "partitions"))
# The first process of a container is none of the command's, so that signals and orphans behave as everywhere.
_RUN = ["/bin/sh", "-c", '"$@"; exit $?', "sh"]
# A line means that the command has ended; the end of the input, that the harness is dead.
_WATCHDOG = 'read -r line || exec "$@"'


@dataclass(frozen=True)
class Engine:
    """A container engine that works on this machine, and what it can limit here."""

    name: str
    command: tuple[str, ...]
    rootless: bool = False
    limits: bool = True
    """Whether control groups limit containers; a rootless engine cannot do so with version 1."""

    def call(self, *words: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        """Run a command of the engine."""
        return subprocess.run([*self.command, *words], input=stdin, capture_output=True)


class Docker:
    """Starts each command in a fresh container."""

    own_user, own_cgroups, mounts_data = True, False, True
    program = "docker"

    def __init__(self, home: Home, slot: LabSlot, setup: Setup) -> None:
        self._engine = find_engine(self.program)
        self._slot = slot
        self._prefix = f"{_name_prefix(home)}{slot.folder.name}"
        self._options = _options(self._engine, slot, setup)
        self._pin = [] if self._engine.limits else pin_to_processors(setup)
        self._filter = slot.folder / "seccomp.json"
        self._filter.write_text(seccomp.build_profile(pinned=setup.pinned, memory_counted=self._engine.limits))
        if setup.image is None:
            self._options += _mount_system(home)
        self._image = setup.image or make_image(self._engine, home)
        self._variables = build_variables(setup, Path(INSIDE), WORKSPACE)
        self.paths = LabPaths(WORKSPACE, INSIDE, STATUS, TOOLS_INSIDE if setup.tools else None)
        self.sealing = _sealing(self._engine, slot, setup)
        _sweep(self._engine, home)

    async def start(
        self, command: Sequence[str], variables: Mapping[str, str], stdin: int, *, freezable: bool = False
    ) -> "ContainerCommand":
        """Start a command in a fresh container."""
        token = random_token()
        name = f"{self._prefix}-{token}"
        folder = self._slot.folder / f"container-{token}"
        folder.mkdir()
        settings = [f"--env={key}={value}" for key, value in {**self._variables, **variables}.items()]
        # Only Podman tells the number of a container's first process; Docker's may not even be on this machine.
        pid_file = [f"--pidfile={folder / _PID}"] if self._engine.name == "podman" else []
        options = [*self._options, *pid_file, f"--security-opt=seccomp={self._filter}"]
        with anyio.CancelScope(shield=True):
            process = await anyio.open_process(
                [
                    *self._pin,
                    *self._engine.command,
                    "run",
                    "--name",
                    name,
                    *options,
                    *settings,
                    self._image,
                    *_RUN,
                    *command,
                ],
                stdin=stdin,
                cwd=folder,
                start_new_session=True,
            )
        return ContainerCommand(self._engine, name, process, folder)


class Podman(Docker):
    """Starts each command in a fresh container of Podman, as an ordinary user without any service of root's."""

    program = "podman"


class ContainerCommand:
    """A command in a container."""

    def __init__(self, engine: Engine, name: str, process: Process, folder: Path) -> None:
        self.process = process
        self.out_of_memory = False
        self.expired = False
        self.paused = False
        self._engine = engine
        self._name = name
        self._folder = folder
        self._killed = False
        self._began = True
        self._code: int | None = None
        self._ending = anyio.Lock()
        self._ended = False
        self._stopped: frozenset[int] = frozenset()
        remove = [*engine.command, "rm", "--force", "--volumes", name]
        self._watchdog = subprocess.Popen(
            ["/bin/sh", "-c", _WATCHDOG, "sh", *remove],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    @property
    def root(self) -> int | None:
        """The first process of the container, once it runs; None if the engine does not tell."""
        with suppress(OSError, ValueError):
            return int((self._folder / _PID).read_text())
        return None

    async def pause(self) -> None:
        """Pause the container."""
        if self._engine.limits:
            await self._call_engine("pause", tries=_PAUSES)
        elif self.root:
            self._stopped = await anyio.to_thread.run_sync(freeze_tree, self.root)
        self.paused = True

    async def unpause(self) -> None:
        """Let it continue after a pause."""
        if self.paused:
            if self._engine.limits:
                await self._call_engine("unpause")
            thaw_tree(self._stopped)
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
        code = self.process.returncode if self._code is None else self._code
        return None if self._killed or not self._began or code in (None, _ENGINE_FAILED) else code

    def kill_expired(self) -> None:
        """Kill the container because the lab's time is up."""
        self.expired = self._killed = True
        self._engine.call("kill", self._name)

    def failure(self, stderr: str) -> LabError:
        """Return the error for a message of the engine."""
        return LabError(f"the container engine failed: {stderr.strip() or 'it was killed from outside'}")

    async def _call_engine(self, what: str, tries: int = 1) -> None:
        for attempt in range(1, tries + 1):
            with anyio.CancelScope(shield=True):
                done = await anyio.run_process([*self._engine.command, what, self._name], check=False)
            if done.returncode == 0:
                return
            if attempt == tries:
                raise self.failure(done.stderr.decode(errors="replace"))

    async def _end(self) -> None:
        inspect = ["inspect", "--format", _STATE, self._name]
        answer = await anyio.run_process([*self._engine.command, *inspect], check=False)
        out_of_memory, started, status, code = (answer.stdout.decode().split() + [""] * 4)[:4]
        if self.process.returncode is None:
            # The command may have ended already, and only the engine's client is still busy.
            self._code = int(code) if status == "exited" else None
            self._killed = self._killed or self._code is None
        # With control groups of version 1, Podman's monitor leaves this file in its folder and tells nobody.
        self.out_of_memory = out_of_memory == "true" or (self._folder / "oom").exists()
        # The engine exits with the codes of a shell if it cannot start a container, too.
        self._began = bool(started) and not started.startswith("-")
        removed = await anyio.to_thread.run_sync(_remove, self._engine, self._name)
        with suppress(ProcessLookupError):
            self.process.kill()
        await self.process.wait()
        await anyio.to_thread.run_sync(self._watchdog.communicate, b"ended\n")
        if not removed:
            raise LabError(f"the container {self._name} cannot be removed; check for hanging disks or network mounts")


def _remove(engine: Engine, name: str) -> bool:
    """Remove a container, and return whether it is gone; an engine refuses it while it changes to another state."""
    for _ in range(_REMOVALS):
        engine.call("rm", "--force", "--volumes", name)
        if engine.call("container", "inspect", name).returncode != 0:
            return True
    return False


def find_engine(program: str) -> Engine:
    """Return a container engine that responds; `LabError` says why there is none."""
    path = shutil.which(program)
    if path is None:
        raise LabError(f"{program} is not installed")
    return _ask_engine(program, path)


@cache
def _ask_engine(program: str, path: str) -> Engine:
    answer = subprocess.run([path, "version", "--format", "{{.Client.Version}}"], capture_output=True, text=True)
    if answer.returncode != 0 or not answer.stdout.strip():
        raise LabError(f"{program} does not respond: {answer.stderr.strip() or 'the engine is not running'}")
    if program != "podman":
        return Engine(program, (path,))
    rootless = os.geteuid() != 0
    version = Engine(program, (path,)).call("info", "--format", "{{.Host.CgroupsVersion}}")
    if version.returncode != 0:
        raise LabError(f"podman does not respond: {version.stderr.decode(errors='replace').strip()}")
    limits = not rootless or version.stdout.strip() == b"v2"
    return Engine(program, (path, *_choose_runtime(path)), rootless, limits)


def check(program: str, home: Home) -> str:
    """Return which engine there is, after running a container; `LabError` if that fails."""
    engine = find_engine(program)
    image = make_image(engine, home)
    options = ["--rm", "--network=none", "--ulimit=nofile=4096:4096", "--ulimit=nproc=64:64", *_mount_system(home)]
    done = engine.call("run", *options, image, "/bin/true")
    if done.returncode != 0:
        raise LabError(f"{program} cannot run a container: {done.stderr.decode(errors='replace').strip()}")
    return f"{' '.join(engine.command)}{', rootless' if engine.rootless else ''}"


def make_image(engine: Engine, home: Home) -> str:
    """Return the name of the image of labs on this machine, which is created unless the engine has it."""
    etc = make_etc(home)
    name = f"{_IMAGE}:{etc.name}"
    if engine.call("image", "inspect", name).returncode != 0:
        imported = engine.call("import", "-", name, stdin=_pack_image(etc))
        if imported.returncode != 0:
            raise LabError(f"{engine.name} cannot import an image: {imported.stderr.decode(errors='replace').strip()}")
    return name


def _choose_runtime(podman: str) -> list[str]:
    """Return the option that selects runc where crun, the usual runtime, does not work: with hybrid control groups."""
    unified = Path("/sys/fs/cgroup/unified/cgroup.controllers")
    if unified.is_file() and unified.read_text().strip() and shutil.which("runc"):
        return ["--runtime=runc"]
    return []


def _pack_image(etc: Path) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name in _MOUNT_POINTS:
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755
            archive.addfile(folder)
        for path, target in {**system_links(), Path("/var/tmp"): Path("/tmp")}.items():
            link = tarfile.TarInfo(str(path).lstrip("/"))
            link.type, link.linkname = tarfile.SYMTYPE, str(target)
            archive.addfile(link)
        archive.add(etc, "etc", filter=_of_root)
    return packed.getvalue()


def _of_root(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    return member


def _mount_system(home: Home) -> list[str]:
    """Return the options that show the machine's programs without those of its owner, above all Assay and its data."""
    folders = [Path("/usr"), *(folder for name in ETC_FOLDERS if (folder := Path("/etc") / name).is_dir())]
    mounts = [*((path, path) for path in folders), *((_empty_folder(home), path) for path in find_hidden_folders(home))]
    return [f"--mount=type=bind,source={source},target={target},readonly" for source, target in mounts]


def _empty_folder(home: Home) -> Path:
    folder = home.system / "empty"
    folder.mkdir(mode=0o755, exist_ok=True)
    return folder


def _options(engine: Engine, slot: LabSlot, setup: Setup) -> list[str]:
    limits = setup.limits
    user, group = slot.owner or (os.getuid(), os.getgid())
    mounts = [(slot.workspace, WORKSPACE, ""), (setup.environment.resolve(), INSIDE, ",readonly")]
    mounts += [(slot.status, STATUS, ",readonly")]
    if setup.tools:
        mounts += [(setup.tools.resolve(), TOOLS_INSIDE, ",readonly")]
    if setup.weights:
        mounts += [(setup.weights.resolve(), WEIGHTS_INSIDE, ",readonly")]
    if setup.data:
        mounts += [(setup.data.resolve(), f"{WORKSPACE}/data", ",readonly")]
    rlimits = rlimit_values(limits, memory_per_process=not engine.limits)
    by_groups = [f"--memory={limits.memory}", f"--memory-swap={limits.memory}", f"--cpus={limits.cores}"]
    return [
        "--interactive", "--network=none", "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges",
        "--hostname=lab", f"--user={user}:{group}", *_podman_options(engine),
        *([*by_groups, f"--pids-limit={limits.processes}"] if engine.limits else []),
        *(f"--ulimit={name.lower()}={value}:{value}" for name, value in rlimits.items()),
        f"--tmpfs=/tmp:rw,mode=1777,size={limits.memory // 4}", f"--shm-size={limits.memory // 4}",
        *(f"--mount=type=bind,source={source},target={target}{more}" for source, target, more in mounts),
        *([f"--cpuset-cpus={choose_processors(setup)}"] if setup.pinned and engine.limits else []),
        *(f"--device={device}:/dev/{device.name}" for device in setup.devices),
        f"--workdir={WORKSPACE}", "--stop-timeout=0",
    ]  # fmt: skip


def _podman_options(engine: Engine) -> Iterator[str]:
    if engine.name == "podman":
        # Its defaults: memory disks without a limit, the proxy settings of the harness, and host names of the machine.
        yield from ("--read-only-tmpfs=false", "--http-proxy=false", "--no-hosts", "--log-driver=none", "--pull=never")
        yield f"--security-opt=mask={_MASKED}"
    if engine.rootless:
        yield "--userns=keep-id"  # otherwise files belong to another user


def _sweep(engine: Engine, home: Home) -> None:
    """Remove the containers of labs that are gone: an engine keeps them if harness and watchdog are killed."""
    listed = engine.call("ps", "--all", "--format", "{{.Names}}").stdout.decode()
    prefix = _name_prefix(home)
    for name in listed.split():
        if name.startswith(prefix) and not (home.labs / name.removeprefix(prefix).rpartition("-")[0]).exists():
            _remove(engine, name)


def _name_prefix(home: Home) -> str:
    return f"assay-{zlib.crc32(os.fsencode(home.root)):08x}-"


def _sealing(engine: Engine, slot: LabSlot, setup: Setup) -> Sealing:
    by_engine = f"container of {engine.name}{', rootless' if engine.rootless else ''}"
    enforced = {
        **dict.fromkeys(("network", "files", "processes seen"), by_engine),
        "system calls": "a deny-list",
        "user": f"user {slot.owner[0] if slot.owner else os.getuid()}, without capabilities",
        "disk": slot.disk,
    }
    if engine.limits:
        limits = dict.fromkeys(("memory", "processes", "cpu"), by_engine)
        return Sealing(engine.name, True, setup.network, enforced | limits, {})
    enforced |= {
        "memory": "polled, and limited for each process",
        "processes": "counted by the kernel in each container",
    }
    missing = {"cpu": "a rootless engine has no control groups of version 1"}
    return Sealing(engine.name, True, setup.network, enforced, missing)
