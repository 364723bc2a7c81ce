"""Reading what was handed in, without being led elsewhere by it."""

import os
import stat
from pathlib import Path

from assay.errors import InvalidSubmission

_KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def read_plain_file(path: Path, most: int) -> bytes:
    """The content of a regular file of at most `most` bytes; `InvalidSubmission` for anything else.

    The kind is looked at before opening, because opening a device can act on it, and again afterwards, because the path
    may have been swapped in between.
    """
    try:
        _refuse_unless_regular(path, path.lstat().st_mode)
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(handle, "rb") as file:  # noqa: PTH123 - a handle, not a path
            found = os.fstat(handle)
            _refuse_unless_regular(path, found.st_mode)
            content = b"" if found.st_size > most else file.read(most + 1)
    except FileNotFoundError:
        raise InvalidSubmission(f"{path.name} does not exist.") from None
    except OSError as error:
        raise InvalidSubmission(f"{path.name} cannot be read: {(error.strerror or 'unknown error').lower()}.") from None
    if found.st_size > most or len(content) > most:
        raise InvalidSubmission(f"{path.name} is {found.st_size:,} bytes; at most {most:,} are accepted.")
    if not content:
        raise InvalidSubmission(f"{path.name} is empty.")
    return content


def _refuse_unless_regular(path: Path, mode: int) -> None:
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "something else")
        raise InvalidSubmission(f"{path.name} is {kind}; hand in a regular file.")
