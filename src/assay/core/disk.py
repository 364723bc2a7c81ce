"""Files that are whole or absent, locks that die with their holder, and hashes."""

import fcntl
import hashlib
import json
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def atomic_write(
    path: Path,
    content: bytes | str,
    mode: int = 0o644,
    *,
    check: Callable[[], None] | None = None,
    durable: bool = True,
) -> None:
    """Write a file so that a reader, or a crash, sees all of it or none of it.

    `check` may raise at the last moment before it is in place. One that is not `durable` outlives this process; a power
    cut may leave the one before, none, or an empty one: for what follows from other files.
    """
    data = content.encode() if isinstance(content, str) else content
    beside = path.with_name(f".{path.name}.{random_token()}")
    try:
        with beside.open("xb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        if check:
            check()
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    if durable:
        sync_folder(path.parent)


def write_json(path: Path, content: Any, *, check: Callable[[], None] | None = None, durable: bool = True) -> None:
    """Write `content` as JSON that any parser reads: bare NaN and infinity are refused."""
    text = json.dumps(content, indent=2, allow_nan=False, ensure_ascii=False) + "\n"
    atomic_write(path, text, check=check, durable=durable)


def sync_folder(folder: Path) -> None:
    """Make a rename in `folder` survive a power cut."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def file_lock(path: Path, *, wait: bool = True) -> Iterator[bool]:
    """Hold an exclusive lock on `path`; yields False when it is taken and `wait` is off.

    The kernel releases it when the holder dies, so there is no stale lock to clean up.
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
    """The SHA-256 of a file's content, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def random_token() -> str:
    """A name that nobody can guess, for folders that must not tell what they hold."""
    return secrets.token_hex(12)
