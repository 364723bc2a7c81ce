"""Read the table of a submission: open it safely, recognize what is not CSV, and choose how to parse it.

Parsing looks only at what is public: the form of the file, its columns, and the ids of the rows that are needed. Every
fault is an `InvalidSubmission` with one sentence.
"""

import mmap
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from assay.core.errors import InvalidSubmission
from assay.grading.submission.answers import FileContent, ParsedSubmission
from assay.grading.submission.fast_path import parse_fast
from assay.grading.submission.strict import parse_strictly

if TYPE_CHECKING:
    from assay.data.store import Prepared

_FILE_TYPES = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
_SIGNATURE_LENGTH = 4096
# Polars unpacks compressed content by itself, also behind a byte-order mark: a small file could fill the memory.
_SIGNATURES = (
    (rb"\x1f\x8b", "gzip-compressed"),
    (rb"x([\x01\x9c\xda]|\^(?![ -~\r\n]{8}))", "zlib-compressed"),  # a header that begins with "x^2" is text
    (rb"BZh[1-9]1AY&SY", "bzip2-compressed"),
    (rb"\xfd7zXZ\0", "xz-compressed"),
    (rb"\x28\xb5\x2f\xfd", "zstd-compressed"),
    (rb"\x04\x22\x4d\x18", "lz4-compressed"),
    (rb"\xff\x06\0\0sNaPpY", "snappy-compressed"),
    (rb"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (rb"PK\x03\x04.{0,4000}(\[Content_Types\]\.xml|xl/)", "an Excel workbook"),
    (rb"PK(\x03\x04|\x05\x06)", "a zip archive"),
    (rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an Excel workbook"),
    (rb"PAR1[\x10-\x19]", "a Parquet file"),
    (rb"ARROW1\0", "an Arrow file"),
    (rb"\x93NUMPY", "a NumPy array"),
    (rb"\x89HDF\r\n", "an HDF5 file"),
    (rb"SQLite format 3\0", "a SQLite database"),
    (rb"\x80[\x02-\x05]", "a Python pickle"),
)


def read_submission(source: bytes | Path, name: str, prepared: "Prepared") -> ParsedSubmission:
    """Parse a submitted table by the rules of the task in its edition.

    `source` is the content or the path of a file, and `name` what messages call it.
    """
    submission = prepared.task.submission
    if submission.lenient and Path(name).suffix.lower() != ".csv":
        raise InvalidSubmission(f"{name} is not called a CSV file: its name must end in .csv.")
    with open_submission(source, name, submission.max_size) as file:
        refuse_signatures(file.content, name)
        parsed = parse_fast(file.content, file.path, prepared)
        if parsed is not None:
            return parsed
        content = file.read()
    if submission.lenient:
        from assay.grading.submission.lenient import parse_leniently

        return parse_leniently(content, name, prepared)
    return parse_strictly(content, name, prepared)


@dataclass(frozen=True)
class SubmissionFile:
    """The content of a submission that is open for reading.

    `path` leads to the same content for readers that open files themselves; None if it exists in memory only.
    """

    name: str
    content: FileContent
    path: str | None = None

    def read(self) -> bytes:
        """Return the whole content as bytes."""
        if isinstance(self.content, bytes):
            return self.content
        try:
            return Path(str(self.path)).read_bytes()
        except OSError as error:
            raise _unreadable(self.name, error) from None


@contextmanager
def open_submission(source: bytes | Path, name: str, max_size: int) -> Iterator[SubmissionFile]:
    """Open the content of a submission, or the file that holds it, without following links.

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


def refuse_signatures(content: FileContent, name: str) -> None:
    """Raise `InvalidSubmission` for content whose first bytes say that it is compressed, an archive or binary."""
    head = content[:_SIGNATURE_LENGTH].removeprefix(b"\xef\xbb\xbf")
    for pattern, kind in _SIGNATURES:
        if re.match(pattern, head, re.DOTALL):
            raise InvalidSubmission(f"{name} is {kind}; submit plain CSV.")


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
