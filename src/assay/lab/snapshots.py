"""Snapshots of a workspace, stored by content so that unchanged files are stored once.

A store has `objects/`, named by the SHA-256 of their content, and `manifests/`, which say which object was where.
Objects are copies: a hard link into a workspace would let code in the lab change the past. Files that shrink are
compressed. A manifest is complete, or the difference to an earlier one that it names by its SHA-256; a complete one is
written as soon as the differences to the last take as much space, so that manifests grow with the changes, and reading
any snapshot costs at most about twice a complete manifest. A manifest is written after everything that it names.

A store may come from somebody else's run, so names, files and hashes are checked whenever something is read from it.
"""

import errno
import hashlib
import io
import json
import os
import re
import sys
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from assay.core.disk import atomic_write, make_private_folder, open_private, random_token, sync_folder
from assay.core.errors import RecordError, UnsafePath
from assay.core.untrusted import MAX_CONTENT, open_plain, parse_json, read_plain
from assay.lab import workspace
from assay.lab.workspace import Owner, WorkspaceEntry

QUOTA_FACTOR = 10
"""How many times the disk limit of a lab all snapshots of a trial may take together."""

COMPRESSED = ".zlib"
"""The suffix of objects that are stored compressed."""
_FORMAT, _DIFFERENCE_FORMAT = "snapshot/1", "snapshot/2"
_CHUNK = 2**20
_MAX_MANIFEST = 2**29
_MAX_DIFFERENCES = 256
"""How many differences there are between two complete manifests at most, however small they are."""
_MIN_COMPRESSED, _MAX_COMPRESSED = 2**12, 2**26
"""Sizes in bytes that are compressed: smaller files do not take fewer blocks of the disk, and larger ones too long."""
_SAMPLE, _MAX_RATIO = 2**16, 0.8
"""A file is compressed if its first bytes shrink to less than this share."""
_KINDS = ("files", "folders", "links")
# A name that is a file and a folder at once, or longer than any name can be.
_IMPOSSIBLE = (errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP, errno.EINVAL)
_ZEROS = bytes(_CHUNK)
# The kernel's clock for file times ticks every few milliseconds: a file changed this shortly before a snapshot may
# change again without a new time.
_CLOCK_SLACK_NS = 50_000_000

T = TypeVar("T")


@dataclass(frozen=True)
class SnapshotFile:
    """A regular file in a snapshot: its content, its mode, and what shows whether it has changed since.

    `ctime_ns` is 0 for a file that may change again without a new time.
    """

    sha256: str
    mode: int
    size: int
    ctime_ns: int
    mtime_ns: int
    inode: int


@dataclass(frozen=True)
class Snapshot:
    """The files, folders and links of a workspace.

    `left_out` names what is not stored: pipes, devices, folders that are too deep, and files beyond the size limit.
    `chain` has the digests of the manifests that it is read from, beginning with a complete one of `complete` bytes,
    followed by `differences` bytes.
    """

    files: Mapping[str, SnapshotFile]
    folders: Mapping[str, int]
    links: Mapping[str, str]
    left_out: tuple[str, ...]
    chain: tuple[str, ...] = field(default=(), compare=False)
    complete: int = field(default=0, compare=False)
    differences: int = field(default=0, compare=False)

    @property
    def id(self) -> str:
        """The digest of its manifest, under which the store has it."""
        return self.chain[-1]

    @property
    def size(self) -> int:
        """The total size of its files in bytes."""
        return sum(file.size for file in self.files.values())


class StoreQuota:
    """How much of the host's disk the snapshots of a trial may take.

    Without it, code that keeps changing a large file could fill the disk, although each snapshot is within its limit.
    Large files are excluded first, so that there is space for scripts; then all files are.
    """

    def __init__(self, store: Path, max_size: int) -> None:
        self._max_size = max_size
        self._used = sum(_size_on_disk(path) for name in ("objects", "manifests") for path in (store / name).glob("*"))

    def has_space(self, size: int) -> bool:
        """Whether a file of this size may be stored."""
        return self._used + size <= (self._max_size if size < _CHUNK else 0.8 * self._max_size)

    def add(self, path: Path) -> None:
        """Count a file that was stored."""
        self._used += _size_on_disk(path)

    def check(self) -> None:
        """Raise `UnsafePath` if even the names of excluded files take too much space."""
        if self._used > 1.2 * self._max_size:
            raise UnsafePath(f"the snapshots of the workspace take more than {self._max_size:,} bytes")


def take_snapshot(
    root: Path,
    store: Path,
    before: Snapshot | None = None,
    *,
    max_size: int,
    without: str | None = None,
    quota: StoreQuota | None = None,
) -> Snapshot:
    """Store what is below `root`; files unchanged since `before` are not read, and if all are, return `before`.

    Sizes count as `ls` shows them and once per name, so that neither sparse files nor hard links can make a snapshot
    larger than `max_size`: what does not fit is excluded. So is what does not fit into the `quota` of the store.
    """
    quota = quota or StoreQuota(store, QUOTA_FACTOR * max_size)
    quota.check()
    objects, manifests = store / "objects", store / "manifests"
    for folder in (store, objects, manifests):
        make_private_folder(folder)
    settled_ns = time.time_ns() - _CLOCK_SLACK_NS
    files: dict[str, SnapshotFile] = {}
    folders: dict[str, int] = {}
    links: dict[str, str] = {}
    left_out: list[str] = []
    digests: dict[int, str] = {}
    total = 0
    for entry in workspace.walk(root, without=without):
        if entry.kind == "file":
            if total + entry.stat.st_size > max_size:
                left_out.append(entry.path)
                continue
            try:
                files[entry.path] = _unchanged(entry, before) or _store_file(entry, objects, settled_ns, digests, quota)
                total += entry.stat.st_size
            except UnsafePath:
                left_out.append(entry.path)
        elif entry.kind == "folder" and entry.readable:
            folders[entry.path] = entry.stat.st_mode & 0o777
        elif entry.kind == "link":
            links[entry.path] = os.readlink(entry.name, dir_fd=entry.folder)
        else:
            left_out.append(entry.path)
    snapshot = Snapshot(files, folders, links, tuple(left_out))
    if before is not None and snapshot == before:
        return before
    sync_folder(objects)
    text, snapshot = _encode_difference(snapshot, before) or _encode(snapshot)
    manifest = manifests / f"{snapshot.id}.json"
    if not manifest.exists():
        atomic_write(manifest, text)
        quota.add(manifest)
    return snapshot


def load_snapshot(store: Path, id: str) -> Snapshot:
    """Return the snapshot with this id; `RecordError` if a manifest of it is missing or does not match its digest."""
    return SnapshotReader(store).load(id)


class SnapshotReader:
    """Reads snapshots of a store one after another; what two in a row have in common is read once.

    `max_size` limits the bytes that are read in total.
    """

    def __init__(self, store: Path, max_size: int = sys.maxsize) -> None:
        self._store = store
        self._left = max_size
        self._last: Snapshot | None = None

    def load(self, id: str) -> Snapshot:
        """Return the snapshot with this id; `RecordError` if a manifest of it is missing or does not match."""
        last, differences = self._last, list[tuple[str, int, dict[str, Any]]]()
        while last is None or id != last.id:
            size, content = self._read(id)
            if content.get("format") != _DIFFERENCE_FORMAT:
                last = replace(_decode(self._path(id), content), chain=(id,), complete=size)
                break
            differences.append((id, size, content))
            if len(differences) > _MAX_DIFFERENCES:
                raise RecordError(f"{self._path(id)} follows more than {_MAX_DIFFERENCES} differences")
            id = content.get("base", "")
        for id, size, content in reversed(differences):
            last = _apply(self._path(id), content, last)
            last = replace(last, chain=(*last.chain, id), differences=last.differences + size)
        self._last = last
        return last

    def _path(self, id: str) -> Path:
        return self._store / "manifests" / f"{_check_digest(id)}.json"

    def _read(self, id: str) -> tuple[int, dict[str, Any]]:
        path = self._path(id)
        try:
            self._left -= path.lstat().st_size
            if self._left < 0:
                raise RecordError("its snapshots have too many files to read all of them; open those of a single step")
            text = read_plain(path, _MAX_MANIFEST)
        except FileNotFoundError:
            raise RecordError(f"{path} is missing") from None
        if hashlib.sha256(text).hexdigest() != id:
            raise _mismatch(str(path))
        content = parse_json(text, path)
        if not isinstance(content, dict):
            raise RecordError(f"{path} is not a {_FORMAT}")
        return len(text), content


def _encode(snapshot: Snapshot) -> tuple[str, Snapshot]:
    """Return the complete manifest as ASCII JSON, which preserves names that are not valid UTF-8, and its snapshot."""
    files = {name: vars(file) for name, file in snapshot.files.items()}
    content = {"files": files, "folders": snapshot.folders, "links": snapshot.links, "left_out": snapshot.left_out}
    text = json.dumps({"format": _FORMAT, **content}, sort_keys=True)
    return text, replace(snapshot, chain=(_digest(text),), complete=len(text))


def _encode_difference(snapshot: Snapshot, before: Snapshot | None) -> tuple[str, Snapshot] | None:
    """Return the difference to another snapshot as a manifest; None if it is time for a complete one."""
    if before is None or len(before.chain) > _MAX_DIFFERENCES:
        return None
    content: dict[str, Any] = {
        "format": _DIFFERENCE_FORMAT,
        "base": before.id,
        "files": {name: vars(file) for name, file in _changed(snapshot.files, before.files).items()},
        "folders": _changed(snapshot.folders, before.folders),
        "links": _changed(snapshot.links, before.links),
        "removed": {kind: sorted(getattr(before, kind).keys() - getattr(snapshot, kind).keys()) for kind in _KINDS},
    }
    if snapshot.left_out != before.left_out:
        content["left_out"] = snapshot.left_out
    text = json.dumps(content, sort_keys=True)
    if before.differences + len(text) > before.complete:
        return None
    chain = (*before.chain, _digest(text))
    return text, replace(snapshot, chain=chain, complete=before.complete, differences=before.differences + len(text))


def _decode(path: Path, content: dict[str, Any]) -> Snapshot:
    """Return the snapshot of a complete manifest."""
    try:
        if content.pop("format") != _FORMAT:
            raise ValueError
        snapshot = Snapshot(
            files={name: SnapshotFile(**file) for name, file in content.pop("files").items()},
            folders=dict(content.pop("folders")),
            links=dict(content.pop("links")),
            left_out=tuple(content.pop("left_out")),
        )
        if content:
            raise ValueError
        _check_types(snapshot)
        return snapshot
    except (AttributeError, LookupError, TypeError, ValueError):
        raise RecordError(f"{path} is not a {_FORMAT}") from None


def _apply(path: Path, content: dict[str, Any], base: Snapshot) -> Snapshot:
    """Return the snapshot that differs from `base` as a manifest says."""
    try:
        removed = content.pop("removed")
        complete = {"format": _FORMAT, "left_out": content.pop("left_out", base.left_out)}
        change = _decode(path, {name: content.pop(name) for name in _KINDS} | complete)
        if content.keys() != {"format", "base"} or removed.keys() != set(_KINDS):
            raise ValueError
        return replace(
            base,
            files=_merge(base.files, change.files, removed["files"]),
            folders=_merge(base.folders, change.folders, removed["folders"]),
            links=_merge(base.links, change.links, removed["links"]),
            left_out=change.left_out,
        )
    except (AttributeError, LookupError, TypeError, ValueError):
        raise RecordError(f"{path} is not a {_DIFFERENCE_FORMAT}") from None


def _merge(base: Mapping[str, T], changed: Mapping[str, T], removed: list[str]) -> dict[str, T]:
    merged = {**base, **changed}
    for name in removed:
        del merged[name]
    return dict(sorted(merged.items()))  # folders come before what is in them


def _changed(now: Mapping[str, T], before: Mapping[str, T]) -> dict[str, T]:
    # Most values are the same objects, which dataclasses compare slowly.
    return {name: value for name, value in now.items() if (old := before.get(name)) is not value and old != value}


def restore_snapshot(
    root: Path, store: Path, snapshot: Snapshot, *, owner: Owner | None, without: str | None = None
) -> None:
    """Make the content of `root` exactly that of a snapshot, including modes and modification times.

    `RecordError` if that is impossible, because the snapshot was not taken of any folder.
    """
    try:
        _restore(root, store, snapshot, owner, without)
    except OSError as error:
        if error.errno not in _IMPOSSIBLE:
            raise
        raise RecordError(f"snapshot {snapshot.id} in {store} cannot be restored: {error.strerror}") from None


def _restore(root: Path, store: Path, snapshot: Snapshot, owner: Owner | None, without: str | None) -> None:
    workspace.empty_folder(root, without=without)
    for path in snapshot.folders:
        workspace.make_folder(root, path, owner=owner)
    for path, file in snapshot.files.items():
        with (
            open_object(store, file.sha256) as source,
            workspace.open_for_writing(root, path, owner=owner, mode=file.mode & 0o777) as target,
        ):
            if isinstance(source, io.BytesIO):
                target.write(_check_content(source.getvalue(), file.sha256))
                target.flush()  # before the time of the file is set
            else:
                _copy(source, target, file.sha256)
            os.utime(target.fileno(), ns=(file.mtime_ns, file.mtime_ns))
    for path, link in snapshot.links.items():
        workspace.make_link(root, path, link, owner=owner)
    # Last and innermost first, because a folder's mode may forbid us to write in it.
    for path, mode in reversed(list(snapshot.folders.items())):
        workspace.set_folder_mode(root, path, mode & 0o777)


def store_object(store: Path, content: bytes) -> str:
    """Store a content unless it is stored already, compressed if that makes it smaller, and return its digest."""
    objects, sha256 = store / "objects", hashlib.sha256(content).hexdigest()
    if not _find_object(objects, sha256).exists():
        for folder in (store, objects):
            make_private_folder(folder)
        _write_object(objects, sha256, content)
        sync_folder(objects)
    return sha256


def object_digests(store: Path) -> dict[str, Path]:
    """Return the objects of a store by the digests that they are named by."""
    objects = store / "objects"
    paths = sorted(objects.iterdir()) if objects.is_dir() else []
    # Names that begin with a dot are copies that a crash interrupted.
    return {path.name.removesuffix(COMPRESSED): path for path in paths if not path.name.startswith(".")}


def hash_object(store: Path, sha256: str) -> str:
    """Return the digest that the content of an object really has; `RecordError` if it cannot be read."""
    digest = hashlib.sha256()
    with open_object(store, sha256) as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def read_object(store: Path, sha256: str, max_size: int = MAX_CONTENT) -> bytes:
    """Return the content with this digest; `RecordError` if it is missing, not a regular file, or does not match."""
    with open_object(store, sha256, min(max_size, MAX_CONTENT)) as file:
        return _check_content(file.read(), sha256)


@contextmanager
def open_object(store: Path, sha256: str, max_size: int = sys.maxsize) -> Iterator[BinaryIO]:
    """Open the object with this digest for reading, without checking its content."""
    path = _find_object(store / "objects", _check_digest(sha256))
    try:
        file = open_plain(path, max_size)
    except FileNotFoundError:
        raise RecordError(f"{path} is missing") from None
    with file:
        yield file if path.suffix != COMPRESSED else io.BytesIO(_decompress(path, file.read(), max_size))


def _find_object(objects: Path, sha256: str) -> Path:
    """Return the path of an object, compressed or not; it need not exist."""
    plain = objects / sha256
    compressed = plain.with_suffix(COMPRESSED)
    return compressed if not os.path.lexists(plain) and os.path.lexists(compressed) else plain


def _write_object(objects: Path, sha256: str, content: bytes) -> Path:
    path, sample = objects / sha256, content[:_SAMPLE]
    is_in_range = _MIN_COMPRESSED <= len(content) <= _MAX_COMPRESSED
    if is_in_range and len(zlib.compress(sample, 1)) < _MAX_RATIO * len(sample):
        path, content = path.with_suffix(COMPRESSED), zlib.compress(content, 1)
    with _temporary(objects) as temporary:
        with open(temporary, "xb", opener=open_private) as file:
            file.write(content)
            file.flush()
            os.fdatasync(file.fileno())
        temporary.rename(path)
    return path


@contextmanager
def _temporary(objects: Path) -> Iterator[Path]:
    """Yield a path that is removed: if the disk is full, half a copy would take the space that is needed to say so."""
    path = objects / f".{random_token()}"
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def _decompress(path: Path, content: bytes, max_size: int) -> bytes:
    """Return what was compressed; `RecordError` if it is damaged, or larger than anything that is compressed."""
    limit = min(max_size, _MAX_COMPRESSED)
    decoder = zlib.decompressobj()
    try:
        data = decoder.decompress(content, limit + 1)
    except zlib.error as error:
        raise RecordError(f"{path} cannot be read: {error}") from None
    if len(data) > limit:
        raise RecordError(f"{path} has more than {limit:,} bytes; at most {limit:,} are read")
    return data


def _size_on_disk(path: Path) -> int:
    return path.lstat().st_blocks * 512


def _check_types(snapshot: Snapshot) -> None:
    """Raise `TypeError` unless a snapshot that was read has the types that it was written with."""
    numbers = [
        number
        for file in snapshot.files.values()
        for number in (file.mode, file.size, file.ctime_ns, file.mtime_ns, file.inode)
    ]
    texts = [*snapshot.links.values(), *snapshot.left_out, *(file.sha256 for file in snapshot.files.values())]
    if not all(type(number) is int for number in (*numbers, *snapshot.folders.values())):
        raise TypeError
    if not all(isinstance(text, str) and "\0" not in text for text in texts):
        raise TypeError


def _check_digest(sha256: str) -> str:
    """Return a digest that is safe to use as a file name."""
    if not isinstance(sha256, str) or not re.fullmatch(r"[0-9a-f]{64}", sha256):
        raise RecordError(f"{sha256!r} is not a SHA-256 digest")
    return sha256


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _check_content(content: bytes, sha256: str) -> bytes:
    if hashlib.sha256(content).hexdigest() != sha256:
        raise _mismatch(sha256)
    return content


def _mismatch(name: str) -> RecordError:
    return RecordError(f"{name} does not match its name, which is the SHA-256 of its content")


def _unchanged(entry: WorkspaceEntry, before: Snapshot | None) -> SnapshotFile | None:
    """Return the file of the previous snapshot if it is still the same."""
    file = before.files.get(entry.path) if before else None
    if file is None:
        return None
    now = (entry.stat.st_ctime_ns, entry.stat.st_ino, entry.stat.st_size)
    return file if now == (file.ctime_ns, file.inode, file.size) else None


def _store_file(
    entry: WorkspaceEntry, objects: Path, settled_ns: int, digests: dict[int, str], quota: StoreQuota
) -> SnapshotFile:
    """Store a file; `digests` has those of the inodes that were stored before under another name."""
    status = entry.stat
    sha256 = digests.get(status.st_ino)
    if sha256 is None:
        if not quota.has_space(status.st_blocks * 512):
            raise UnsafePath(f"{entry.path!r} does not fit into the space for snapshots")
        with workspace.open_at(entry.folder, entry.name, entry.path) as source:
            sha256 = _store_content(source, status.st_size, objects, quota)
        digests[status.st_ino] = sha256
    changed_ns = status.st_ctime_ns if status.st_ctime_ns <= settled_ns else 0
    return SnapshotFile(sha256, status.st_mode & 0o777, status.st_size, changed_ns, status.st_mtime_ns, status.st_ino)


def _store_content(source: BinaryIO, size: int, objects: Path, quota: StoreQuota) -> str:
    """Store the content of an open file unless it is stored already, and return its digest."""
    if size <= min(_MAX_COMPRESSED, os.fstat(source.fileno()).st_blocks * 512):  # small enough and without holes
        content = source.read(size)
        sha256 = hashlib.sha256(content).hexdigest()
        if not _find_object(objects, sha256).exists():
            quota.add(_write_object(objects, sha256, content))
        return sha256
    with _temporary(objects) as temporary, open(temporary, "xb", opener=open_private) as copy:
        sha256 = _copy(source, copy)
        target = objects / sha256
        if not target.exists():
            os.fdatasync(copy.fileno())
            temporary.rename(target)
            quota.add(target)
    return sha256


def _copy(source: BinaryIO, target: BinaryIO, expected: str | None = None) -> str:
    """Copy a whole file with its holes, and return its digest; `RecordError` if it is not the expected one."""
    digest = hashlib.sha256()
    reader, writer = source.fileno(), target.fileno()
    size = os.fstat(reader).st_size
    os.ftruncate(writer, size)
    for start, end, is_data in _extents(reader, size):
        position = start
        while position < end:
            length = min(_CHUNK, end - position)
            chunk = os.pread(reader, length, position) if is_data else _ZEROS[:length]
            if not chunk:
                break
            digest.update(chunk)
            if is_data:
                os.pwrite(writer, chunk, position)
            position += len(chunk)
    if expected is not None and digest.hexdigest() != expected:
        raise _mismatch(source.name)
    return digest.hexdigest()


def _extents(handle: int, size: int) -> Iterator[tuple[int, int, bool]]:
    """Yield the parts of a file in order: start, end, and whether there is data or a hole."""
    position = 0
    while position < size:
        try:
            data = os.lseek(handle, position, os.SEEK_DATA)
        except OSError as error:
            if error.errno != errno.ENXIO:  # ENXIO: nothing but a hole is left
                raise
            data = size
        if data > position:
            yield position, min(data, size), False
        if data >= size:
            return
        position = min(os.lseek(handle, data, os.SEEK_HOLE), size)
        yield data, position, True
