"""Memory, processes and processor time of a whole lab, held down by the kernel's control groups (version 1 or 2)."""

import os
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from assay.core.errors import LabError
from assay.lab.interface import Limits

_CONTROLLERS = {"memory": "memory", "processes": "pids", "cpu": "cpu"}
_PERIOD = 100_000


@dataclass(frozen=True)
class Group:
    """The control groups of one lab: which limits they hold, and why they do not hold the others."""

    folders: Mapping[str, Path]
    enforced: Mapping[str, str]
    missing: Mapping[str, str]

    @property
    def places(self) -> list[Path]:
        """Each folder once: version 2 has one for all limits."""
        return sorted(set(self.folders.values()))

    @property
    def doors(self) -> list[Path]:
        """The files into which a process writes a zero to put itself, and all that it will start, under the limits.

        Putting another process there, or one with several threads, makes the kernel wait until all processors have
        taken note, which takes several milliseconds. Version 1 has a file for a thread that moves itself.
        """
        return [door if (door := folder / "tasks").exists() else folder / "cgroup.procs" for folder in self.places]

    def memory_kills(self) -> int:
        """How many processes the kernel has killed because the lab was out of memory."""
        return self._count("memory", ("memory.events", "memory.oom_control"), "oom_kill")

    def refusals(self) -> int:
        """How often the kernel has refused another process because the lab had as many as it may."""
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
        """Kill what is left in the groups and remove them."""
        remove(self.places)


def create(name: str, limits: Limits) -> Group:
    """Make the groups called `name` below the group we are in, as far as this machine lets us."""
    folders: dict[str, Path] = {}
    enforced: dict[str, str] = {}
    missing: dict[str, str] = {}
    mounts = list(_mounts())
    for limit, controller in _CONTROLLERS.items():
        old = next((mount for mount in mounts if controller in mount.controllers), None)
        try:
            folders[limit] = _create_old(old, controller, name) if old else _create_new(mounts, controller, name)
            _set(folders[limit], limit, limits)
            enforced[limit] = f"control group version {1 if old else 2}"
        except OSError as error:
            folders.pop(limit, None)
            missing[limit] = f"no control group: {error.strerror or error}"
    return Group(folders, enforced, missing)


def remove(folders: list[Path], patience: float = 5.0) -> None:
    """Kill every process in these groups and remove them; groups that are gone already are no fault."""
    deadline = time.monotonic() + patience
    for folder in folders:
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
                    raise LabError(f"cannot remove the control group {folder}: something in it does not die") from None
                # A killed process leaves its group only when the kernel has taken it apart.
                time.sleep(0.01)


@dataclass(frozen=True)
class _Mount:
    """A mounted hierarchy: where, what controllers it has (none: version 2), and the group we are in."""

    point: Path
    controllers: frozenset[str]
    ours: Path


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
        found = (
            next((c for c in groups if c and c <= set(options.split(","))), None) if kind == "cgroup" else frozenset()
        )
        if found is not None and found in groups:
            # Inside a container the mount may begin at the container's own group.
            inside = groups[found].removeprefix(root if root != "/" else "").strip("/")
            yield _Mount(Path(point), found, Path(point) / inside)


def _create_old(mount: _Mount, controller: str, name: str) -> Path:
    refused: OSError | None = None
    for parent in dict.fromkeys((mount.ours, mount.point)):
        try:
            folder = parent / name
            folder.mkdir()
            return folder
        except OSError as error:
            refused = error
    raise refused or FileNotFoundError(f"no {controller} hierarchy")


def _create_new(mounts: list[_Mount], controller: str, name: str) -> Path:
    """Version 2: only a group without processes of its own may hand limits down, so look up the tree for one."""
    mount = next((mount for mount in mounts if not mount.controllers), None)
    if mount is None:
        raise FileNotFoundError(0, "control groups are not mounted")
    refused: OSError = FileNotFoundError(0, f"the {controller} controller is not available")
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
            refused = error
    raise refused


def _set(folder: Path, limit: str, limits: Limits) -> None:
    quota = int(limits.cores * _PERIOD)
    wanted = {
        "memory": (("memory.max", limits.memory), ("memory.limit_in_bytes", limits.memory)),
        "processes": (("pids.max", limits.processes),),
        "cpu": (("cpu.max", f"{quota} {_PERIOD}"), ("cpu.cfs_quota_us", quota)),
    }[limit]
    for name, value in wanted:
        if (folder / name).exists():
            (folder / name).write_text(str(value))
    # Without these two, memory that is over the limit goes to swap instead of being refused.
    for name, value in (("memory.swap.max", 0), ("memory.memsw.limit_in_bytes", limits.memory)):
        if limit == "memory" and (folder / name).exists():
            (folder / name).write_text(str(value))
