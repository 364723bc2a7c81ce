"""Control groups (version 1 or 2), which limit the memory, processes and processor time of a whole lab."""

import itertools
import os
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from assay.core.disk import random_token
from assay.core.errors import LabError
from assay.lab.interface import Limits

_CONTROLLERS = {"memory": "memory", "processes": "pids", "cpu": "cpu"}
_PERIOD = 100_000


@dataclass(frozen=True)
class LabCgroups:
    """The control groups of one lab: which limits they enforce, and why they do not enforce the others."""

    folders: Mapping[str, Path]
    enforced: Mapping[str, str]
    missing: Mapping[str, str]
    freezers: Path | None = None
    """The group below which freezers are created; None if there is no freezer."""

    @property
    def roots(self) -> list[Path]:
        """The folder of each group, once: version 2 has one for everything."""
        return sorted({*self.folders.values(), *([self.freezers] if self.freezers else [])})

    def join_files(self, freezer: "Freezer | None" = None) -> list[Path]:
        """Return the files to which a process writes 0 to join the groups, together with everything it will start.

        Moving another process, or one with several threads, makes the kernel wait for all processors, which takes
        several milliseconds. Version 1 has a file for a thread that moves itself.
        """
        folders = sorted(set(self.folders.values()))
        if freezer:
            folders = [folder for folder in folders if folder != freezer.folder.parent] + [freezer.folder]
        return [tasks if (tasks := folder / "tasks").exists() else folder / "cgroup.procs" for folder in folders]

    def make_freezer(self) -> "Freezer | None":
        """Create a group that can freeze a process with everything it starts, where the kernel has one."""
        if self.freezers is None:
            return None
        freezer = Freezer(self.freezers / f"live-{random_token()}")
        freezer.folder.mkdir()
        return freezer

    def memory_kills(self) -> int:
        """Return how many processes the kernel has killed because the lab was out of memory."""
        return self._count("memory", ("memory.events", "memory.oom_control"), "oom_kill")

    def refusals(self) -> int:
        """Return how often the kernel has refused to start a process because of the limit."""
        return self._count("processes", ("pids.events",), "max")

    def _count(self, limit: str, names: Sequence[str], word: str) -> int:
        folder = self.folders.get(limit)
        if folder is None:
            return 0
        for name in names:
            with suppress(FileNotFoundError):
                words = dict(line.split() for line in (folder / name).read_text().splitlines())
                return int(words.get(word, 0))
        return 0

    def remove(self) -> None:
        """Kill what is left in the groups, and remove them."""
        remove_groups(self.roots)


@dataclass(frozen=True)
class Freezer:
    """A control group of one long-lived process, which the kernel can freeze with everything it has started.

    Unlike stopping processes one by one, this also catches a chain of processes that fork and exit.
    """

    folder: Path

    def freeze(self, timeout: float = 60.0) -> None:
        """Freeze everything in the group, and wait until nothing runs any more.

        Version 1 can stay half frozen until the state is read again: a process in the middle of starting another
        is missed. Freezing again catches it; if that fails, thawing everything for a moment helps.
        """
        deadline = time.monotonic() + timeout
        for attempt in itertools.count(1):
            self._write("1", "FROZEN")
            if self._is_frozen():
                return
            if time.monotonic() > deadline:
                self.thaw()
                raise LabError("a process in the lab cannot be frozen")
            if attempt % 100 == 0:
                self.thaw()
            time.sleep(0.001)

    def thaw(self) -> None:
        """Let everything in the group continue."""
        with suppress(FileNotFoundError):
            self._write("0", "THAWED")

    def remove(self) -> None:
        """Kill what is left in the group, and remove it."""
        remove_groups([self.folder])

    def _write(self, version_2: str, version_1: str) -> None:
        if (state := self.folder / "freezer.state").exists():
            state.write_text(version_1)
        elif (switch := self.folder / "cgroup.freeze").exists():
            switch.write_text(version_2)

    def _is_frozen(self) -> bool:
        if (state := self.folder / "freezer.state").exists():
            return state.read_text().strip() == "FROZEN"
        return "frozen 1" in (self.folder / "cgroup.events").read_text()


def create_groups(name: str, limits: Limits) -> LabCgroups:
    """Create the groups called `name` below the group of this process, as far as this machine permits."""
    folders: dict[str, Path] = {}
    enforced: dict[str, str] = {}
    missing: dict[str, str] = {}
    mounts = list(_mounts())
    for limit, controller in _CONTROLLERS.items():
        v1 = next((mount for mount in mounts if controller in mount.controllers), None)
        try:
            folders[limit] = _create_v1(v1, controller, name) if v1 else _create_v2(mounts, controller, name)
            _set(folders[limit], limit, limits)
            enforced[limit] = f"control group version {1 if v1 else 2}"
        except OSError as error:
            folders.pop(limit, None)
            missing[limit] = f"no control group: {error.strerror or error}"
    return LabCgroups(folders, enforced, missing, _create_freezers(mounts, name, folders))


def remove_groups(folders: list[Path], timeout: float = 5.0) -> None:
    """Kill every process in these groups, and remove them with the groups below; missing ones are ignored."""
    deadline = time.monotonic() + timeout
    for folder in folders:  # first, because a frozen process does not die in any of its groups
        for group in (folder, *folder.glob("live-*")):
            Freezer(group).thaw()
    for folder in folders:
        remove_groups(sorted(folder.glob("live-*")), timeout)
        while True:
            try:
                for pid in (folder / "cgroup.procs").read_text().split():
                    with suppress(ProcessLookupError):
                        os.kill(int(pid), signal.SIGKILL)
                folder.rmdir()
                break
            except FileNotFoundError:
                break
            except OSError:
                if time.monotonic() > deadline:
                    raise LabError(f"cannot remove {folder}: a process in it cannot be killed") from None
                # A killed process leaves its group only when the kernel has cleaned it up.
                time.sleep(0.01)


@dataclass(frozen=True)
class _Mount:
    """A mounted hierarchy: its mount point, its controllers (none: version 2), and the group of this process."""

    point: Path
    controllers: frozenset[str]
    ours: Path


def own_groups() -> Iterator[Path]:
    """Yield the folders of the groups that this process is in, up to the topmost that it can see."""
    for mount in _mounts():
        yield from (folder for folder in (mount.ours, *mount.ours.parents) if folder.is_relative_to(mount.point))


def _mounts() -> Iterator[_Mount]:
    groups: dict[frozenset[str], str] = {}
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        groups[frozenset(controllers.split(",")) - {""}] = path
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        root, point = before.split()[3:5]
        kind, _, options = after.split()[:3]
        if kind not in ("cgroup", "cgroup2"):
            continue
        mounted = (
            next((c for c in groups if c and c <= set(options.split(","))), None) if kind == "cgroup" else frozenset()
        )
        if mounted is not None and mounted in groups:
            # Inside a container the mount may begin at the container's own group.
            inside = groups[mounted].removeprefix(root if root != "/" else "").strip("/")
            yield _Mount(Path(point), mounted, Path(point) / inside)


def _create_v1(mount: _Mount, controller: str, name: str) -> Path:
    failure: OSError | None = None
    for parent in dict.fromkeys((mount.ours, mount.point)):
        try:
            folder = parent / name
            folder.mkdir()
            return folder
        except OSError as error:
            failure = error
    raise failure or FileNotFoundError(f"no {controller} hierarchy")


def _create_freezers(mounts: list[_Mount], name: str, folders: Mapping[str, Path]) -> Path | None:
    """Create the group below which freezers go: in version 2 that of the limits, in version 1 one of its own."""
    v1 = next((mount for mount in mounts if "freezer" in mount.controllers), None)
    if v1 is None:
        return next((folder for folder in folders.values() if (folder / "cgroup.freeze").exists()), None)
    try:
        return _create_v1(v1, "freezer", name)
    except OSError:
        return None


def _create_v2(mounts: list[_Mount], controller: str, name: str) -> Path:
    """In version 2 only a group without processes can have limited children, so search upwards for one."""
    mount = next((mount for mount in mounts if not mount.controllers), None)
    if mount is None:
        raise FileNotFoundError(0, "control groups are not mounted")
    failure: OSError = FileNotFoundError(0, f"the {controller} controller is not available")
    above = [mount.ours, *(p for p in mount.ours.parents if p == mount.point or mount.point in p.parents)]
    for parent in above:
        try:
            if controller not in (parent / "cgroup.controllers").read_text().split():
                continue
            if controller not in (parent / "cgroup.subtree_control").read_text().split():
                (parent / "cgroup.subtree_control").write_text(f"+{controller}")
            (parent / name).mkdir(exist_ok=True)
            return parent / name
        except OSError as error:
            failure = error
    raise failure


def _set(folder: Path, limit: str, limits: Limits) -> None:
    quota = int(limits.cores * _PERIOD)
    settings = {
        "memory": (("memory.max", limits.memory), ("memory.limit_in_bytes", limits.memory)),
        "processes": (("pids.max", limits.processes),),
        "cpu": (("cpu.max", f"{quota} {_PERIOD}"), ("cpu.cfs_quota_us", quota)),
    }[limit]
    for name, value in settings:
        if (folder / name).exists():
            (folder / name).write_text(str(value))
    # Without the first two, memory over the limit is swapped out instead of refused. Version 1 counts the buffers of
    # TCP sockets separately, and does not limit them by default.
    further = (
        ("memory.swap.max", 0),
        ("memory.memsw.limit_in_bytes", limits.memory),
        ("memory.kmem.tcp.limit_in_bytes", limits.memory // 4),
    )
    for name, value in further:
        if limit == "memory" and (folder / name).exists():
            (folder / name).write_text(str(value))
