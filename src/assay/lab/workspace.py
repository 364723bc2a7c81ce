"""The only module through which the host accesses a workspace: regular files only, never through a link.

The content of a workspace was created by untrusted code, so every name may be a trap: a link to the answers, a pipe
that never ends, a device, a tree that is too deep or too wide to walk. Paths are opened one folder at a time.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Literal

from assay.core.disk import random_token
from assay.core.errors import UnsafePath

Owner = tuple[int, int]
EntryKind = Literal["file", "folder", "link", "other"]

MAX_ENTRIES = 200_000
MAX_DEPTH = 64
MAX_CHARACTERS = 32 * 10**6
"""Max total length of all paths and link targets of a workspace, which are kept in memory and recorded."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def read_file(root: Path, path: str, *, max_size: int) -> bytes:
    """Return the content of the regular file at `path` below `root`; `UnsafePath` if it exceeds `max_size` bytes."""
    with open_file(root, path) as file:
        content = file.read(max_size + 1)
    if len(content) > max_size:
        raise UnsafePath(f"{path!r} is larger than {max_size:,} bytes")
    return content


def change_stamp(root: Path, path: str) -> tuple[int, ...] | None:
    """Return a value that changes when the regular file at `path` does; None if there is no such file.

    The content is not read, so this is safe while code in the lab is running.
    """
    *folders, name = split_path(path)
    try:
        with _folder(root, folders, path) as folder:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except (OSError, UnsafePath):
        return None
    return (status.st_ino, status.st_size, status.st_ctime_ns) if stat.S_ISREG(status.st_mode) else None


@contextmanager
def open_file(root: Path, path: str) -> Iterator[BinaryIO]:
    """Open the regular file at `path` below `root` for reading."""
    *folders, name = split_path(path)
    with _folder(root, folders, path) as folder, open_at(folder, name, path) as file:
        yield file


@contextmanager
def open_at(folder: int, name: str, path: str) -> Iterator[BinaryIO]:
    """Open the regular file `name` in an open folder for reading; `path` is its name in messages."""
    try:
        handle = os.open(name, _FILE, dir_fd=folder)
    except OSError as error:
        raise _refusal(path, error) from error
    try:
        file = os.fdopen(handle, "rb")
    except OSError as error:  # a folder can be opened, but not as a file
        os.close(handle)
        raise _refusal(path, error) from error
    with file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise UnsafePath(f"{path!r} is not a regular file")
        yield file


def write_file(root: Path, path: str, content: bytes, *, owner: Owner | None, mode: int = 0o644) -> None:
    """Create or replace the regular file at `path` below `root`; missing parent folders are created for `owner`."""
    with open_for_writing(root, path, owner=owner, mode=mode) as file:
        file.write(content)


@contextmanager
def open_for_writing(root: Path, path: str, *, owner: Owner | None, mode: int = 0o644) -> Iterator[BinaryIO]:
    """Open a new file that replaces whatever is at `path` if the block does not raise."""
    *folders, name = split_path(path)
    temporary = f".{random_token()}"
    with (
        _folder(root, folders, path, make_for=(owner,)) as folder,
        os.fdopen(os.open(temporary, _NEW_FILE, 0o600, dir_fd=folder), "wb") as file,
    ):
        try:
            yield file
            file.flush()
            os.fchmod(file.fileno(), mode)
            if owner:
                os.fchown(file.fileno(), *owner)
            os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException as error:
            os.unlink(temporary, dir_fd=folder)
            if isinstance(error, IsADirectoryError):
                raise UnsafePath(f"{path!r} is a folder") from error
            raise


def make_folder(root: Path, path: str, *, owner: Owner | None) -> None:
    """Create the folder at `path` below `root`, and its parents."""
    with _folder(root, split_path(path), path, make_for=(owner,)):
        pass


def set_folder_mode(root: Path, path: str, mode: int) -> None:
    """Change the mode of the folder at `path` below `root`."""
    with _folder(root, split_path(path), path) as folder:
        os.fchmod(folder, mode)


def make_link(root: Path, path: str, target: str, *, owner: Owner | None) -> None:
    """Create a symbolic link at `path` below `root`; this module never follows it."""
    *folders, name = split_path(path)
    with _folder(root, folders, path, make_for=(owner,)) as folder:
        os.symlink(target, name, dir_fd=folder)
        if owner:
            os.chown(name, *owner, dir_fd=folder, follow_symlinks=False)


@dataclass(frozen=True)
class WorkspaceEntry:
    """One name in a workspace; the descriptor `folder` is open only until the walk continues."""

    path: str
    kind: EntryKind
    stat: os.stat_result
    folder: int
    name: str
    readable: bool = True


def walk(
    root: Path,
    *,
    without: str | None = None,
    max_entries: int = MAX_ENTRIES,
    max_depth: int = MAX_DEPTH,
    max_characters: int = MAX_CHARACTERS,
) -> Iterator[WorkspaceEntry]:
    """Yield everything below `root` in order of names, folders before their content, except the top name `without`.

    A folder that is deeper than `max_depth` or cannot be opened has `readable` off and is not entered. Names count when
    they are listed, over all folders, so that many large folders inside each other are refused in bounded memory. So
    do the characters of all paths: with long names and deep folders, few names on disk can make gigabytes of paths.
    """
    listed = characters = 0
    open_folders: list[tuple[int, str, Iterator[str]]] = []

    def enter(folder: int, prefix: str, skip: str | None = None) -> None:
        nonlocal listed
        open_folders.append((folder, prefix, iter(())))  # from here on it is closed with the others
        names = _names(folder, max_entries - listed, skip=skip)
        listed += len(names)
        if listed > max_entries:
            raise UnsafePath(f"the workspace has more than {max_entries:,} names; remove some")
        open_folders[-1] = (folder, prefix, iter(names))

    try:
        enter(os.open(root, _FOLDER), "", skip=without)
        while open_folders:
            folder, prefix, names = open_folders[-1]
            name = next(names, None)
            if name is None:
                open_folders.pop()
                os.close(folder)
                continue
            try:
                status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            except FileNotFoundError:
                continue
            kind = _kind(status.st_mode)
            characters += len(prefix) + len(name) + (status.st_size if kind == "link" else 0)
            if characters > max_characters:
                raise UnsafePath(f"the paths in the workspace have more than {max_characters:,} characters in all")
            inner = _try_open_folder(folder, name) if kind == "folder" and len(open_folders) < max_depth else None
            if inner is not None:
                enter(inner, f"{prefix}{name}/")
            yield WorkspaceEntry(
                prefix + name, kind, status, folder, name, readable=kind != "folder" or inner is not None
            )
    finally:
        for folder, _, _ in open_folders:
            os.close(folder)


def remove_tree(folder: Path) -> None:
    """Delete a folder of untrusted content: any depth, width and modes, never through a link.

    Inner folders are moved to the top before they are emptied, so that no path gets long and only two folders are open
    at a time.
    """
    try:
        top = os.open(folder, _FOLDER)
    except FileNotFoundError:
        return
    try:
        os.fchmod(top, 0o700)
        while names := _names(top, 10_000):
            for name in names:
                _remove_from(top, name)
    finally:
        os.close(top)
    folder.rmdir()


def empty_folder(root: Path, *, without: str | None = None) -> None:
    """Delete everything in `root` except the top name `without`."""
    top = os.open(root, _FOLDER)
    try:
        while names := _names(top, 10_000, skip=without):
            for name in names:
                _remove_from(top, name)
    finally:
        os.close(top)


def split_path(path: str) -> list[str]:
    """Return the names in a relative path; `UnsafePath` if it is absolute or contains `..`."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if path.startswith("/") or ".." in parts or "\0" in path or not parts:
        raise UnsafePath(f"{path!r} is not a path inside the workspace")
    return parts


@contextmanager
def _folder(root: Path, parts: list[str], path: str, make_for: tuple[Owner | None] | None = None) -> Iterator[int]:
    """Open the folder `parts` below `root` one name at a time; with `make_for`, missing ones are created."""
    folder = os.open(root, _FOLDER)
    try:
        for part in parts:
            try:
                inner = os.open(part, _FOLDER, dir_fd=folder)
            except FileNotFoundError as error:
                if make_for is None:
                    raise _refusal(path, error) from error
                inner = _make(folder, part, make_for[0])
            except OSError as error:
                raise _refusal(path, error) from error
            os.close(folder)
            folder = inner
        yield folder
    finally:
        os.close(folder)


def _make(folder: int, name: str, owner: Owner | None) -> int:
    os.mkdir(name, 0o755, dir_fd=folder)
    subfolder = os.open(name, _FOLDER, dir_fd=folder)
    os.fchmod(subfolder, 0o755)
    if owner:
        os.fchown(subfolder, *owner)
    return subfolder


def _refusal(path: str, error: OSError) -> UnsafePath:
    reasons = {
        errno.ENOENT: "does not exist",
        errno.ELOOP: "is a link",
        errno.ENOTDIR: "is not reached through plain folders",
        errno.ENXIO: "is not a regular file",
        errno.EISDIR: "is a folder",
        errno.ENAMETOOLONG: "has too long a name",
        errno.EACCES: "cannot be read",
    }
    return UnsafePath(f"{path!r} {reasons.get(error.errno or 0, os.strerror(error.errno or 0))}")


def _names(folder: int, limit: int, skip: str | None = None) -> list[str]:
    with os.scandir(folder) as entries:
        return sorted(islice((entry.name for entry in entries if entry.name != skip), limit + 1))


def _kind(mode: int) -> EntryKind:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "folder"
    return "link" if stat.S_ISLNK(mode) else "other"


def _try_open_folder(folder: int, name: str) -> int | None:
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except OSError:
        return None


def _remove_from(top: int, name: str) -> None:
    if not _is_folder(top, name):
        os.unlink(name, dir_fd=top)
        return
    folder = _open_forced(top, name)
    try:
        while names := _names(folder, 10_000):
            for inner in names:
                if _is_folder(folder, inner):
                    os.close(_open_forced(folder, inner))
                    os.rename(inner, random_token(), src_dir_fd=folder, dst_dir_fd=top)
                else:
                    os.unlink(inner, dir_fd=folder)
    finally:
        os.close(folder)
    os.rmdir(name, dir_fd=top)


def _is_folder(folder: int, name: str) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)


def _open_forced(folder: int, name: str) -> int:
    """Open a folder whatever its mode: its owner may have removed every permission."""
    handle = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
    try:
        Path(f"/proc/self/fd/{handle}").chmod(0o700)
        return os.open(".", _FOLDER, dir_fd=handle)
    finally:
        os.close(handle)
