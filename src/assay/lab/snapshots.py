"""What a workspace held at one moment, kept by content so that what did not change is kept once.

A store holds `objects/`, named by the SHA-256 of their content, and `manifests/`, which say which object was where.
Objects are copies: a hard link into a workspace would let code in the lab change the past.
"""

import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Any

from assay.core.disk import atomic_write, random_token, sync_folder
from assay.core.errors import RecordError, UnsafePath
from assay.lab import workspace
from assay.lab.workspace import Entry, Owner

_FORMAT = "snapshot/1"
_CHUNK = 2**20
# The kernel's clock for file times ticks every few milliseconds: a file changed this shortly before a snapshot may
# change again without showing it.
_DOUBT = 50_000_000


@dataclass(frozen=True)
class SnapshotFile:
    """One plain file in a snapshot: its content, its mode, and what shows whether it has changed since.

    `ctime_ns` is 0 for a file that may change again without showing it.
    """

    sha256: str
    mode: int
    size: int
    ctime_ns: int
    mtime_ns: int
    inode: int


@dataclass(frozen=True)
class Snapshot:
    """Which files, folders and links a workspace held. `left_out` names pipes, devices and folders too deep to keep."""

    files: Mapping[str, SnapshotFile]
    folders: Mapping[str, int]
    links: Mapping[str, str]
    left_out: tuple[str, ...]

    @cached_property
    def id(self) -> str:
        """The name under which its store keeps it."""
        return hashlib.sha256(self.manifest.encode()).hexdigest()

    @cached_property
    def manifest(self) -> str:
        """It as JSON in ASCII, so that names that are no text survive too."""
        files = {name: vars(kept) for name, kept in self.files.items()}
        found = {"files": files, "folders": self.folders, "links": self.links, "left_out": self.left_out}
        return json.dumps({"format": _FORMAT, **found}, sort_keys=True)

    @property
    def size(self) -> int:
        """Bytes in all its files."""
        return sum(kept.size for kept in self.files.values())


def take(root: Path, store: Path, before: Snapshot | None = None, *, without: str | None = None) -> Snapshot:
    """Keep what is below `root` now; files unchanged since `before` are not read, and if all are, it is `before`."""
    objects, manifests = store / "objects", store / "manifests"
    for folder in (objects, manifests):
        folder.mkdir(parents=True, exist_ok=True)
    settled_ns = time.time_ns() - _DOUBT
    files: dict[str, SnapshotFile] = {}
    folders: dict[str, int] = {}
    links: dict[str, str] = {}
    left_out: list[str] = []
    for entry in workspace.walk(root, without=without):
        if entry.kind == "file":
            earlier = _unchanged(entry, before)
            try:
                files[entry.path] = earlier or _keep(entry, objects, settled_ns)
            except UnsafePath:
                left_out.append(entry.path)
        elif entry.kind == "folder" and entry.readable:
            folders[entry.path] = entry.stat.st_mode & 0o777
        elif entry.kind == "link":
            links[entry.path] = os.readlink(entry.name, dir_fd=entry.folder)
        else:
            left_out.append(entry.path)
    snapshot = Snapshot(files, folders, links, tuple(left_out))
    if snapshot == before:
        return before
    sync_folder(objects)
    atomic_write(manifests / f"{snapshot.id}.json", snapshot.manifest)
    return snapshot


def load_snapshot(store: Path, id: str) -> Snapshot:
    """The snapshot a store keeps under `id`."""
    path = store / "manifests" / f"{id}.json"
    try:
        found: dict[str, Any] = json.loads(path.read_text())
    except (FileNotFoundError, json.JSONDecodeError) as error:
        raise RecordError(f"{path} is missing or damaged") from error
    if found.pop("format", None) != _FORMAT:
        raise RecordError(f"{path} is not a {_FORMAT}")
    found.pop("taken_ns", None)  # earlier versions kept it
    files = {name: SnapshotFile(**kept) for name, kept in found.pop("files").items()}
    return Snapshot(files=files, left_out=tuple(found.pop("left_out")), **found)


def restore(root: Path, store: Path, snapshot: Snapshot, *, owner: Owner | None, without: str | None = None) -> None:
    """Make what is below `root` what it was, to the byte, mode and modification time; everything else there goes."""
    workspace.empty_folder(root, without=without)
    for path in snapshot.folders:
        workspace.make_folder(root, path, owner=owner)
    for path, kept in snapshot.files.items():
        with (
            workspace.writing(root, path, owner=owner, mode=kept.mode) as target,
            (store / "objects" / kept.sha256).open("rb") as source,
        ):
            shutil.copyfileobj(source, target, _CHUNK)
            target.flush()
            os.utime(target.fileno(), ns=(kept.mtime_ns, kept.mtime_ns))
    for path, link in snapshot.links.items():
        workspace.make_link(root, path, link, owner=owner)
    # Last and inside out, because a folder's mode may forbid us to write in it.
    for path, mode in reversed(list(snapshot.folders.items())):
        workspace.set_folder_mode(root, path, mode)


def _unchanged(entry: Entry, before: Snapshot | None) -> SnapshotFile | None:
    kept = before.files.get(entry.path) if before else None
    if kept is None:
        return None
    now = (entry.stat.st_ctime_ns, entry.stat.st_ino, entry.stat.st_size)
    return kept if now == (kept.ctime_ns, kept.inode, kept.size) else None


def _keep(entry: Entry, objects: Path, settled_ns: int) -> SnapshotFile:
    with workspace.open_at(entry.folder, entry.name, entry.path) as source:
        first = source.read(_CHUNK)
        kept = hashlib.sha256(first).hexdigest()
        # Most files are small, and were kept before.
        if len(first) == _CHUNK or not (objects / kept).exists():
            kept = _copied(chain([first], iter(partial(source.read, _CHUNK), b"")), objects)
    found = entry.stat
    changed_ns = found.st_ctime_ns if found.st_ctime_ns <= settled_ns else 0
    return SnapshotFile(kept, found.st_mode & 0o777, found.st_size, changed_ns, found.st_mtime_ns, found.st_ino)


def _copied(content: Iterable[bytes], objects: Path) -> str:
    """Keep some content, unless it is there already; the name it is kept under."""
    digest = hashlib.sha256()
    beside = objects / f".{random_token()}"
    try:
        with beside.open("xb") as copy:
            for chunk in content:
                digest.update(chunk)
                copy.write(chunk)
            copy.flush()
            target = objects / digest.hexdigest()
            if not target.exists():
                os.fdatasync(copy.fileno())
                beside.rename(target)
    finally:
        # Where a disk is full, half a copy would take the room that is needed to say so.
        beside.unlink(missing_ok=True)
    return target.name
