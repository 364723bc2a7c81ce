"""A lab's place on this machine: a folder, a user and limits of its own, all gone when it closes or its owner dies."""

import json
import os
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from assay.core.disk import file_lock, random_token
from assay.core.errors import LabError
from assay.core.home import Home
from assay.lab import workspace
from assay.lab.host import cgroups, volumes
from assay.lab.interface import Limits
from assay.lab.workspace import Owner

_SLOTS = 1000
# Nobody hands out user ids up here: systemd's containers end at 1,879,048,191, and 2,147,483,647 is the last.
_FIRST_USER, _USER_RANGES = 1_900_000_000, 200_000


@dataclass(frozen=True)
class LabSlot:
    """What a lab has on this machine. `owner` is the user its code runs as, where that is not ourselves."""

    folder: Path
    workspace: Path
    status: Path
    owner: Owner | None
    group: cgroups.Group
    volume: volumes.Volume | None
    disk: str


@contextmanager
def acquire_slot(home: Home, limits: Limits, *, own_user: bool = True, groups: bool = True) -> Iterator[LabSlot]:
    """Take a place for one lab, first clearing away what labs of dead owners left.

    A sandbox may do without a user of its own, or hold the limits by itself instead of with control groups.
    """
    sweep(home)
    with _slot(home) as slot:
        folder = home.labs / f"{slot:04}-{random_token()}"
        owner = _user(home, slot) if own_user and os.geteuid() == 0 else None
        try:
            yield _make(home, folder, limits, owner, groups)
        finally:
            _clear(folder)


def sweep(home: Home) -> None:
    """Clear away the labs whose owners died; the lock on a living lab's slot is held by its owner."""
    for folder in sorted(home.labs.iterdir()):
        if match := re.fullmatch(r"(\d{4})-[0-9a-f]+", folder.name):
            with file_lock(_lock(home, int(match[1])), wait=False) as free:
                if free:
                    # What hangs in the kernel cannot be cleared away yet; no other lab has to wait for it.
                    with suppress(LabError):
                        _clear(folder, patience=2.0)


@contextmanager
def _slot(home: Home) -> Iterator[int]:
    for slot in range(_SLOTS):
        with file_lock(_lock(home, slot), wait=False) as free:
            if free:
                yield slot
                return
    raise LabError(f"{_SLOTS} labs are open in {home.root}; close some")


def _lock(home: Home, slot: int) -> Path:
    return home.locks / f"lab-{slot:04}"


def _user(home: Home, slot: int) -> Owner:
    """A user for this slot alone. Homes lie apart too, because their locks know nothing of each other."""
    area = zlib.crc32(os.fsencode(home.root)) % _USER_RANGES
    user = _FIRST_USER + area * _SLOTS + slot
    return user, user


def _make(home: Home, folder: Path, limits: Limits, owner: Owner | None, groups: bool) -> LabSlot:
    folder.mkdir(mode=0o700)
    if owner:
        # The lab's user must pass through, and nobody else may look in.
        os.chown(folder, 0, owner[1])
        folder.chmod(0o710)
    group = cgroups.create(f"assay-{folder.name}", limits) if groups else cgroups.Group({}, {}, {})
    (folder / "groups.json").write_text(json.dumps([str(place) for place in group.places]))
    volume, disk = _volume(home, folder, limits)
    workspace = (volume.point if volume else folder) / "workspace"
    for made in (workspace, folder / "status"):
        made.mkdir()
        made.chmod(0o755)
    if owner:
        os.chown(workspace, *owner)
    return LabSlot(folder, workspace, folder / "status", owner, group, volume, disk)


def _volume(home: Home, folder: Path, limits: Limits) -> tuple[volumes.Volume | None, str]:
    try:
        return volumes.create(folder, limits.disk, home.templates), "a mounted image of that size"
    except volumes.Refused as error:
        return None, f"polled, because {error}"


def _clear(folder: Path, *, patience: float = 5.0) -> None:
    try:
        groups = [Path(name) for name in json.loads((folder / "groups.json").read_text())]
    except (FileNotFoundError, json.JSONDecodeError):
        groups = []
    cgroups.remove(groups, patience)
    volumes.remove(folder)
    workspace.remove_tree(folder)
