"""Read the table of a submission: open it safely, recognize what is not CSV, and parse it, fast where possible.

Parsing looks only at what is public: the form of the file, its columns, and the ids of the rows that are needed. Every
fault is an `InvalidSubmission` with one sentence.
"""

import mmap
import os
import re
import stat
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from assay.core.errors import InvalidSubmission
from assay.grading.submission.answers import BYTE_ORDER_MARK, FileContent, ParsedSubmission
from assay.grading.submission.fast_path import FastPath, LenientFastPath, PlainAnswers
from assay.grading.submission.strict import TextAnswers, parse_strictly

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


class Parser(ABC):
    """Reads submitted tables of one task."""

    fast_path: FastPath
    accepts_any_score = False
    """Whether a score that is not finite counts."""

    def __init__(self, prepared: "Prepared") -> None:
        self.submission = prepared.task.submission

    def read(self, source: bytes | Path, name: str) -> ParsedSubmission:
        """Parse the content or the path of a file; `name` is what messages call it."""
        with open_submission(source, name, self.submission.max_size) as file:
            refuse_signatures(file.content, name)
            parsed = self.fast_path.parse(file.content, file.path)
            if parsed is not None:
                return parsed
            content = file.read()
        return self.parse(content, name)

    @abstractmethod
    def parse(self, content: bytes, name: str) -> ParsedSubmission:
        """Parse the content of a file without the fast path."""

    def exists(self, path: Path) -> bool:
        """Return whether anything counts as submitted at this path, valid or not."""
        return os.path.lexists(path)


class StrictParser(Parser):
    """Accepts what the task asks for, and nothing else."""

    def __init__(self, prepared: "Prepared") -> None:
        super().__init__(prepared)
        self._answers = TextAnswers.of(prepared)
        self.fast_path = FastPath(self._answers)

    def parse(self, content: bytes, name: str) -> ParsedSubmission:
        """Parse the content of a file, by `assay.grading.submission.strict`."""
        return parse_strictly(content, name, self._answers)


class LenientParser(Parser):
    """Accepts what the published graders accept, and gives it the same meaning."""

    accepts_any_score = True

    def __init__(self, prepared: "Prepared") -> None:
        super().__init__(prepared)
        self._prepared = prepared
        self.fast_path = LenientFastPath(PlainAnswers.of(prepared))

    def read(self, source: bytes | Path, name: str) -> ParsedSubmission:
        """Parse a file, whose name must end in .csv."""
        if Path(name).suffix.lower() != ".csv":
            raise InvalidSubmission(f"{name} is not called a CSV file: its name must end in .csv.")
        return super().read(source, name)

    def parse(self, content: bytes, name: str) -> ParsedSubmission:
        """Parse the content of a file, by `assay.grading.submission.lenient`, which imports pandas."""
        from assay.grading.submission.lenient import PandasAnswers, parse_leniently

        return parse_leniently(content, name, PandasAnswers.of(self._prepared))

    def exists(self, path: Path) -> bool:
        """Return whether there is a file named `*.csv`, as the published benchmark counts submissions."""
        return path.suffix.lower() == ".csv" and path.is_file()


def choose_parser(prepared: "Prepared") -> Parser:
    """Return what parses the tables that are submitted to a task, by the rules of its edition."""
    return LenientParser(prepared) if prepared.task.submission.lenient else StrictParser(prepared)


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
    head = content[:_SIGNATURE_LENGTH].removeprefix(BYTE_ORDER_MARK)
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
