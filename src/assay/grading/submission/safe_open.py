"""Reading what was handed in, without being led elsewhere by it."""

import mmap
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from assay.core.errors import InvalidSubmission

_KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


@dataclass(frozen=True)
class PlainFile:
    """A regular file that is open for reading, and stays the one that was looked at whatever its path leads to."""

    name: str
    handle: int
    size: int

    @property
    def address(self) -> str:
        """A path to this very file, for those who open files themselves."""
        return f"/proc/self/fd/{self.handle}"

    def read(self) -> bytes:
        """The whole content."""
        try:
            return Path(self.address).read_bytes()
        except OSError as error:
            raise _unreadable(self.name, error) from None

    @contextmanager
    def mapped(self) -> Iterator[mmap.mmap]:
        """The content as if it were in memory; only what is looked at is read."""
        try:
            content = mmap.mmap(self.handle, 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:  # ValueError: it is empty by now
            raise _unreadable(self.name, error) from None
        with content:
            yield content


@contextmanager
def plain_file(path: Path, most: int) -> Iterator[PlainFile]:
    """A regular file of at most `most` bytes, which is not empty; `InvalidSubmission` for anything else.

    The kind is looked at before opening, because opening a device can act on it, and again afterwards, because the path
    may have been swapped in between.
    """
    try:
        _refuse_unless_regular(path, path.lstat().st_mode)
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise InvalidSubmission(f"{path.name} does not exist.") from None
    except OSError as error:
        raise _unreadable(path.name, error) from None
    try:
        found = os.fstat(handle)
        _refuse_unless_regular(path, found.st_mode)
        if found.st_size > most:
            raise InvalidSubmission(f"{path.name} is {found.st_size:,} bytes; at most {most:,} are accepted.")
        if not found.st_size:
            raise InvalidSubmission(f"{path.name} is empty.")
        yield PlainFile(path.name, handle, found.st_size)
    finally:
        os.close(handle)


def read_plain_file(path: Path, most: int) -> bytes:
    """The content of such a file."""
    with plain_file(path, most) as file:
        return file.read()


def _unreadable(name: str, error: OSError | ValueError) -> InvalidSubmission:
    reason = getattr(error, "strerror", None) or "unknown error"
    return InvalidSubmission(f"{name} cannot be read: {reason.lower()}.")


def _refuse_unless_regular(path: Path, mode: int) -> None:
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "something else")
        raise InvalidSubmission(f"{path.name} is {kind}; hand in a regular file.")
