"""Atomic file writes, locks that the kernel releases when their holder dies, and file hashes."""

import fcntl
import hashlib
import json
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PRIVATE = 0o600


def atomic_write(
    path: Path,
    content: bytes | str,
    mode: int | None = PRIVATE,
    *,
    check: Callable[[], None] | None = None,
    durable: bool = True,
) -> None:
    """Write a file atomically: readers see the old content or the new, even after a crash.

    Records and what is derived from them are for their owner only; with `mode=None`, files that a user asks for have
    the permissions that the umask says. `check` is called just before the file is renamed into place and may raise.
    With `durable` off, the write survives the death of this process but not a power failure, which may leave the old
    file, an empty one, or none. Use it for files that can be derived from others.
    """
    data = content.encode() if isinstance(content, str) else content
    temporary = path.with_name(f".{path.name}.{random_token()}")
    try:
        with temporary.open("xb") as file:
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        if check:
            check()
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    if durable:
        sync_folder(path.parent)


def write_json(
    path: Path,
    content: Any,
    mode: int | None = PRIVATE,
    *,
    check: Callable[[], None] | None = None,
    durable: bool = True,
) -> None:
    """Write `content` as strict JSON, atomically; NaN and infinity raise `ValueError`."""
    text = json.dumps(content, indent=2, allow_nan=False, ensure_ascii=False) + "\n"
    atomic_write(path, text, mode, check=check, durable=durable)


def make_private_folder(path: Path) -> None:
    """Create a folder that only its owner can enter, unless it exists; folders above it are as the umask says."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)


def open_private(path: str, flags: int) -> int:
    """Open a file, which nobody but its owner can read if it is created: the `opener` of the built-in `open`."""
    return os.open(path, flags, PRIVATE)


def sync_folder(folder: Path) -> None:
    """Make renames in `folder` survive a power failure."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def file_lock(path: Path, *, wait: bool = True) -> Iterator[bool]:
    """Hold an exclusive lock on `path`; with `wait` off, yield False if another process has it.

    The kernel releases the lock when the holder dies, so there are no stale locks.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(handle)


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file's content in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def hash_tree(folder: Path) -> str:
    """Return the SHA-256 of a folder: of the sorted lines `HASH  PATH` that `sha256sum` prints of its files."""
    paths = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return hashlib.sha256("".join(f"{hash_file(folder / path)}  {path}\n" for path in paths).encode()).hexdigest()


def random_token() -> str:
    """Return an unguessable name, for folders whose names must not reveal what they contain."""
    return secrets.token_hex(12)
