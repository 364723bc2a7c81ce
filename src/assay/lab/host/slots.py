"""Slots for labs on this machine: each has its own folder, user, control groups and disk, all removed at the end."""

import json
import os
import re
import subprocess
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from assay.core.disk import file_lock, random_token
from assay.core.errors import LabError
from assay.core.home import Home
from assay.lab import workspace
from assay.lab.host import cgroups, marks, volumes
from assay.lab.interface import Limits
from assay.lab.workspace import Owner

_SLOTS = 1000
_SHARED_MEMORY = Path("/dev/shm")
# A line means that the lab was closed; the end of the input, that the harness is dead. Killing is repeated, because
# processes may fork meanwhile, and bounded, because one that hangs in the kernel does not die.
_WATCHDOG = """
read -r line && exit
tries=0 alive=yes
while [ $alive ] && [ $tries -lt 10000 ]; do
    tries=$((tries + 1)) alive=
    for folder in "$@" $(for root in "$@"; do echo "$root"/live-*; done); do
        [ -e "$folder/freezer.state" ] && echo THAWED > "$folder/freezer.state"
        [ -e "$folder/cgroup.freeze" ] && echo 0 > "$folder/cgroup.freeze"
        [ -e "$folder/cgroup.procs" ] || continue
        while read -r pid; do alive=yes; kill -9 "$pid"; done < "$folder/cgroup.procs"
    done
done
"""
# Nothing else assigns user ids in this range: systemd's containers end at 1,879,048,191, and 2,147,483,647 is the last.
_FIRST_USER, _USER_RANGES = 1_900_000_000, 200_000


@dataclass(frozen=True)
class LabSlot:
    """The resources of one lab. `owner` is the user its code runs as, if not that of the harness."""

    folder: Path
    workspace: Path
    status: Path
    owner: Owner | None
    group: cgroups.LabCgroups
    volume: volumes.Volume | None
    disk: str

    @property
    def temporary(self) -> Path:
        """The folder for temporary files, on the same disk as the workspace; only some sandboxes create it."""
        return self.workspace.parent / "tmp"


@contextmanager
def acquire_slot(home: Home, limits: Limits, *, own_user: bool = True, groups: bool = True) -> Iterator[LabSlot]:
    """Acquire a slot for one lab, after removing the labs of dead processes.

    With `own_user` off, the lab runs as the user of the harness; with `groups` off, it has no control groups.
    """
    sweep(home)
    with _lock_free_number(home) as number:
        folder = home.labs / f"{number:04}-{random_token()}"
        owner = _user(home, number) if own_user and os.geteuid() == 0 else None
        try:
            slot = _create(home, folder, limits, owner, groups)
            with _watchdog(slot.group):
                yield slot
        finally:
            _remove(folder)


def sweep(home: Home) -> None:
    """Remove the labs of dead processes; a living process holds the lock on the slot of its lab."""
    for folder in sorted(home.labs.iterdir()):
        if match := re.fullmatch(r"(\d{4})-[0-9a-f]+", folder.name):
            with file_lock(_lock_path(home, int(match[1])), wait=False) as free:
                if free:
                    # A process that hangs in the kernel cannot be killed yet; other labs need not wait for it.
                    with suppress(LabError):
                        _remove(folder, timeout=2.0)


@contextmanager
def _watchdog(group: cgroups.LabCgroups) -> Iterator[None]:
    """Run a process that kills everything in the lab's control groups if the harness dies.

    The kernel kills the first process of a sandbox when its parent dies. Code in the lab that takes over that process
    could prevent this, but it cannot reach the watchdog, which waits for the pipe from the harness to close.
    """
    if not group.roots:
        yield
        return
    command = ["/bin/sh", "-c", _WATCHDOG, "sh", *map(str, group.roots)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd="/", env={}, start_new_session=True
    ) as process:
        try:
            yield
        finally:
            process.communicate(b"closed\n")


@contextmanager
def _lock_free_number(home: Home) -> Iterator[int]:
    for number in range(_SLOTS):
        with file_lock(_lock_path(home, number), wait=False) as free:
            if free:
                yield number
                return
    raise LabError(f"{_SLOTS} labs are open in {home.root}; close some")


def _lock_path(home: Home, number: int) -> Path:
    return home.locks / f"lab-{number:04}"


def _user(home: Home, number: int) -> Owner:
    """Return the user of a slot. Each home has its own range, because homes do not share locks."""
    area = zlib.crc32(os.fsencode(home.root)) % _USER_RANGES
    user = _FIRST_USER + area * _SLOTS + number
    return user, user


def _create(home: Home, folder: Path, limits: Limits, owner: Owner | None, groups: bool) -> LabSlot:
    folder.mkdir(mode=0o700)
    if owner:
        # Only the lab's user can enter.
        os.chown(folder, 0, owner[1])
        folder.chmod(0o710)
    group = cgroups.create_groups(f"assay-{folder.name}", limits) if groups else cgroups.LabCgroups({}, {}, {})
    (folder / "groups.json").write_text(json.dumps([str(root) for root in group.roots]))
    volume, disk = _volume(home, folder, limits)
    workspace = (volume.point if volume else folder) / "workspace"
    for created in (workspace, folder / "status"):
        created.mkdir()
        created.chmod(0o755)
    if owner:
        os.chown(workspace, *owner)
    return LabSlot(folder, workspace, folder / "status", owner, group, volume, disk)


def _volume(home: Home, folder: Path, limits: Limits) -> tuple[volumes.Volume | None, str]:
    try:
        return volumes.create_volume(folder, limits.disk, home.templates), "a mounted image of that size"
    except volumes.VolumeUnavailable as error:
        return None, f"polled, because {error}"


def _remove(folder: Path, *, timeout: float = 5.0) -> None:
    try:
        groups = [Path(name) for name in json.loads((folder / "groups.json").read_text())]
    except (FileNotFoundError, json.JSONDecodeError):
        groups = []
    cgroups.remove_groups(groups, timeout)
    marks.kill_lab(folder, timeout)
    _clear_shared_memory(folder)
    volumes.remove_volume(folder)
    workspace.remove_tree(folder)


def _clear_shared_memory(folder: Path) -> None:
    """Remove what the lab's own user left in the machine's memory disk, which only some sandboxes let it use."""
    with suppress(FileNotFoundError):
        user = folder.stat().st_gid
        for path in _SHARED_MEMORY.iterdir() if user >= _FIRST_USER else ():
            with suppress(FileNotFoundError):
                if path.lstat().st_uid == user:
                    path.unlink()
