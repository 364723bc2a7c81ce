"""Open a submission without being redirected by it: regular files only, no links followed, at most so many bytes."""

import mmap
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from assay.core.errors import InvalidSubmission

Content = bytes | mmap.mmap
"""The bytes of a file, or a memory map that can be sliced and searched like them."""

_FILE_TYPES = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


@dataclass(frozen=True)
class SubmissionFile:
    """The content of a submission that is open for reading.

    `path` leads to the same content for readers that open files themselves; None if it exists in memory only.
    """

    name: str
    content: Content
    path: str | None = None

    def read(self) -> bytes:
        """Return the whole content as bytes."""
        try:
            return bytes(self.content) if self.path is None else Path(self.path).read_bytes()
        except OSError as error:
            raise _unreadable(self.name, error) from None


@contextmanager
def open_submission(source: bytes | Path, name: str, max_size: int) -> Iterator[SubmissionFile]:
    """Open the content of a submission, or the file that holds it; `name` is what messages call it.

    Raises `InvalidSubmission` unless it has between 1 and `max_size` bytes and, for a path, is a regular file.
    """
    if isinstance(source, bytes):
        _check_size(len(source), name, max_size)
        yield SubmissionFile(name, source)
        return
    with _open_regular(source, name) as handle:
        _check_size(os.fstat(handle).st_size, name, max_size)
        try:
            content = mmap.mmap(handle, 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:  # ValueError: the file became empty in the meantime
            raise _unreadable(name, error) from None
        with content:
            yield SubmissionFile(name, content, f"/proc/self/fd/{handle}")


def read_submission_bytes(source: bytes | Path, name: str, max_size: int) -> bytes:
    """Return the content of a submission after the checks of `open_submission`."""
    with open_submission(source, name, max_size) as file:
        return file.read()


@contextmanager
def _open_regular(path: Path, name: str) -> Iterator[int]:
    """Open a regular file.

    Its type is checked before opening, because opening a device can have side effects, and again afterwards, because
    the path may have been swapped in between.
    """
    try:
        _check_regular(path.lstat().st_mode, name)
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise InvalidSubmission(f"{name} does not exist.") from None
    except OSError as error:
        raise _unreadable(name, error) from None
    try:
        _check_regular(os.fstat(handle).st_mode, name)
        yield handle
    finally:
        os.close(handle)


def _check_regular(mode: int, name: str) -> None:
    if not stat.S_ISREG(mode):
        kind = _FILE_TYPES.get(stat.S_IFMT(mode), "a special file")
        raise InvalidSubmission(f"{name} is {kind}; submit a regular file.")


def _check_size(size: int, name: str, max_size: int) -> None:
    if size > max_size:
        raise InvalidSubmission(f"{name} is {size:,} bytes; at most {max_size:,} are accepted.")
    if not size:
        raise InvalidSubmission(f"{name} is empty.")


def _unreadable(name: str, error: OSError | ValueError) -> InvalidSubmission:
    reason = getattr(error, "strerror", None) or "unknown error"
    return InvalidSubmission(f"{name} cannot be read: {reason.lower()}.")
