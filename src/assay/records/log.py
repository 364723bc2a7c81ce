"""The append-only log of a trial: one event per line of JSON, each chained by hash to the line before.

A line ends with the field `chain`: the SHA-256 of the `chain` of the line before and of this line without its `chain`.
The hash is taken over the bytes as they are on disk, so checking a log needs no canonical form.

The log of a trial that has ended may be compressed, as `events.jsonl.gz`. Whoever reads a log passes the path of
`events.jsonl`, which counts where both exist.
"""

import errno
import hashlib
import json
import os
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from tempfile import SpooledTemporaryFile
from types import TracebackType
from typing import BinaryIO, TypeVar, cast

from pydantic import ValidationError

from assay.core.disk import atomic_write, open_private
from assay.core.errors import AssayError, RecordError
from assay.core.untrusted import (
    MAX_LINE,
    MAX_LOG,
    check_values,
    open_plain,
    parse_json,
    read_plain,
    refuse_links,
    split_lines,
)
from assay.records.events import EVENT_ADAPTER, Event, EventBase

MAX_SIZE = 10**9
"""Bytes of a log beyond which an agent can make no more calls; what ends a trial is still recorded."""
START = "0" * 64
"""The `chain` before the first line."""

Written = TypeVar("Written", bound=EventBase)
_CHAIN = b',"chain":"%s"}\n'
_CHAIN_LENGTH = len(_CHAIN % START.encode())
_FIRST_BLOCK = 2**16
_MIN_COMPRESSED = 2**16
"""Bytes from which a log is compressed: of a shorter one a few blocks of the disk would be saved."""
_GZIP = 31  # what zlib calls this format
_CHUNK = 2**20
_MAX_RATIO, _ANY_RATIO = 200, 10**8
"""A compressed log has at most this many times its size, in addition to bytes that any may have."""
_MAX_IN_MEMORY = 2**26


class LogTooLarge(AssayError):
    """An agent had so much recorded that its work ends; the machine is not to blame."""


class EventLog:
    """Appends events; each is on disk before `append` returns, and with it all that were added before.

    A last line that a crash cut short is removed when the log is opened again. The chain reveals a later edit of any
    line; to detect that the whole log was rewritten, keep its last hash elsewhere.

    `check` raises once this writer may no longer write. If an earlier writer may still be alive, open the log
    `detached`: a copy replaces the file that the other has open, and what the other still writes is discarded. With
    `keep`, `events` has everything in the log, from when it was opened to the last event that was added.

    The times of events never run backwards: they follow a clock that nobody can set, from the date when the log was
    opened, or the last event if that is later.
    """

    def __init__(
        self,
        path: Path,
        epoch: int,
        *,
        check: Callable[[], None] | None = None,
        detached: bool = False,
        keep: bool = False,
        max_size: int = MAX_SIZE,
    ) -> None:
        self.events: list[Event] = []
        self._keep, self._max_size = keep, max_size
        self._epoch, self._check = epoch, check or _no_check
        self._number, self._chain, self._size = 0, START, 0
        self._error: OSError | None = None
        self._path = path
        self._opened, self._opened_at = time.clock_gettime(time.CLOCK_BOOTTIME), datetime.now(UTC)
        refuse_links(path, compressed_log(path))
        self._decompress()
        if detached and path.exists():
            atomic_write(path, read_plain(path, MAX_LOG), check=self._check)
        self._file = open(path, "ab", buffering=0, opener=open_private)  # noqa: SIM115 - paths have no opener
        try:
            # Check only after opening: a writer whose lease is valid now has not opened a later writer's copy.
            self._check()
            line = b""
            for number, line, chain in _chained_lines(path):
                if keep:
                    self.events.append(_parse_at(path, number, line))
                self._number, self._chain, self._size = number + 1, chain, self._size + len(line)
            if last := _parse(line, path):
                self._opened_at = max(self._opened_at, last.time)
            self._file.truncate(self._size)
        except BaseException:
            self._file.close()
            raise

    def append(self, event: Written) -> Written:
        """Write one event durably; return it with its number, time, epoch and chain."""
        written = self.add(event)
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            # Nothing is known about what is on disk now: only a process that reads the log again may continue it.
            self._error = error
            raise
        return written

    def add(self, event: Written) -> Written:
        """Write one event that survives this process, and survives a power cut once another is appended."""
        if self._error:
            raise self._error
        self._check()
        self._check_place()
        passed = timedelta(seconds=time.clock_gettime(time.CLOCK_BOOTTIME) - self._opened)
        header = {"number": self._number, "time": self._opened_at + passed, "epoch": self._epoch}
        stamped = event.model_copy(update=header)
        # Text from outside can hold lone surrogates, which no file can: they become question marks.
        body = json.dumps(stamped.model_dump(mode="json"), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        line = body.encode(errors="replace")
        chain = _link(self._chain, line)
        self._write(line[:-1] + _CHAIN % chain.encode())
        self._number, self._chain = self._number + 1, chain
        written = stamped.model_copy(update={"chain": chain})
        if self._keep:
            self.events.append(cast("Event", written))  # every event is a member of the union
        return written

    def check_size(self) -> None:
        """Raise `LogTooLarge` if an agent has recorded so much that readers would run out of memory."""
        if self._size > self._max_size:
            raise LogTooLarge(f"the log of the trial has more than {self._max_size:,} bytes")

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> "EventLog":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _decompress(self) -> None:
        """Replace a compressed log by the log itself."""
        compressed = compressed_log(self._path)
        if not compressed.exists():
            return
        if not self._path.exists():
            with open_log(self._path) as file:
                atomic_write(self._path, file.read(), check=self._check)
        self._check()
        compressed.unlink()

    def _check_place(self) -> None:
        """Raise `OSError` if the file is no longer at its path, such as on a disk that was unmounted while it was open.

        Such a file can still be written, while everything that events refer to would be written elsewhere.
        """
        if not os.path.samestat(self._path.stat(), os.fstat(self._file.fileno())):
            self._check()  # it may have been replaced by a process that has just taken over
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE), str(self._path))

    def _write(self, line: bytes) -> None:
        """Write all of a line or nothing: half of one, on a full disk, would spoil every line after it."""
        written = 0
        try:
            while written < len(line):
                written += self._file.write(line[written:])
        except OSError as error:
            try:
                self._file.truncate(self._size)
            except OSError:
                self._error = error
            raise
        self._size += len(line)


def compressed_log(path: Path) -> Path:
    """Return the path that a log has when it is compressed."""
    return path.with_name(f"{path.name}.gz")


def compress_log(path: Path, *, check: Callable[[], None] | None = None, min_size: int = _MIN_COMPRESSED) -> None:
    """Compress a log to which nothing will be added, unless it is short; readers find it as before."""
    with open_plain(path, MAX_LOG) as file:
        if os.fstat(file.fileno()).st_size < min_size:
            return
        encoder = zlib.compressobj(wbits=_GZIP)
        parts = [encoder.compress(chunk) for chunk in iter(partial(file.read, _CHUNK), b"")]
    atomic_write(compressed_log(path), b"".join([*parts, encoder.flush()]), check=check)
    path.unlink()


def log_size(path: Path) -> int | None:
    """Return the bytes that a log takes, compressed or not; None if there is none."""
    for candidate in (path, compressed_log(path), path):  # again: it may have been decompressed in between
        try:
            return candidate.lstat().st_size
        except (FileNotFoundError, NotADirectoryError):
            continue
    return None


@contextmanager
def open_log(path: Path, max_size: int = MAX_LOG) -> Iterator[BinaryIO]:
    """Open a log for reading, compressed or not; `FileNotFoundError` if there is none."""
    with _open(path, max_size) as file:
        yield file


def _open(path: Path, max_size: int = MAX_LOG) -> BinaryIO:
    with suppress(FileNotFoundError):
        return open_plain(path, max_size)
    with suppress(FileNotFoundError):
        return _open_compressed(compressed_log(path), max_size)
    return open_plain(path, max_size)  # it may have been decompressed in between


def _open_compressed(path: Path, max_size: int) -> BinaryIO:
    """Return the content of a compressed log as a file that can be read from any position."""
    decoder, size = zlib.decompressobj(_GZIP), 0
    max_size = min(max_size, _MAX_RATIO * path.lstat().st_size + _ANY_RATIO)
    content = SpooledTemporaryFile(_MAX_IN_MEMORY)  # noqa: SIM115 - the caller closes it
    try:
        with open_plain(path, max_size) as file:
            while not decoder.eof and (rest := decoder.unconsumed_tail or file.read(_CHUNK)):
                part = decoder.decompress(rest, _CHUNK)
                size += len(part)
                if size > max_size:
                    raise RecordError(f"{path} has more than {max_size:,} bytes")
                content.write(part)
            if not decoder.eof or decoder.unused_data or file.read(1):
                raise RecordError(f"{path} is damaged: it does not end where its content does")
        content.seek(0)
    except zlib.error as error:
        content.close()
        raise RecordError(f"{path} cannot be read: {error}") from None
    except BaseException:
        content.close()
        raise
    return cast(BinaryIO, content)


def hash_log(path: Path) -> str | None:
    """Return the SHA-256 of a log, the same whether it is compressed; None if there is none."""
    try:
        with open_log(path) as file:
            digest = hashlib.sha256()
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
            return digest.hexdigest()
    except FileNotFoundError:
        return None


def read_log_lines(path: Path) -> Iterator[bytes]:
    """Read a log line by line; lines keep their line break."""
    with open_log(path) as file:
        yield from split_lines(file, path)


def read_events(path: Path, *, strict: bool = False) -> list[Event]:
    """Read all complete events of a log; a torn last line is ignored, any other damage is a `RecordError`.

    A log that does not exist yet has no events. `strict` also refuses JSON that other readers may read differently.
    """
    return list(iterate_events(path, strict=strict))


def iterate_events(path: Path, *, strict: bool = False) -> Iterator[Event]:
    """Read the events of a log one by one, checking the chain."""
    for number, line, _ in _chained_lines(path):
        if strict:
            parse_json(line, f"{path}, line {number + 1}")
        yield _parse_at(path, number, line)


def read_events_backwards(path: Path) -> Iterator[Event]:
    """Read a log from its last event to its first, reading only as much of the file as is asked for.

    A line that is just being written is ignored; the chain is not checked.
    """
    for line in _lines_backwards(path):
        event = _parse(line, path)
        if event is None:
            raise RecordError(f"{path}: a line is not an event of a format that this version reads")
        yield event


def last_chain(path: Path) -> str:
    """Return the last hash of a log's chain, checking all of it."""
    chain = START
    for _, _, link in _chained_lines(path):
        chain = link
    return chain


def is_torn(path: Path) -> bool:
    """Whether a log ends in the middle of a line."""
    with open_log(path) as file:
        if not file.seek(0, os.SEEK_END):
            return False
        file.seek(-1, os.SEEK_END)
        return file.read(1) != b"\n"


def _no_check() -> None:
    """For a log that only one process knows of."""


def _parse(line: bytes, name: object) -> Event | None:
    check_values(line, name)
    try:
        return EVENT_ADAPTER.validate_json(line)
    except ValidationError:
        return None


def _parse_at(path: Path, number: int, line: bytes) -> Event:
    event = _parse(line, f"{path}, line {number + 1}")
    if event is None:
        raise RecordError(f"{path}, line {number + 1}: not an event of a format that this version reads")
    if event.number != number:
        raise RecordError(f"{path}, line {number + 1}: it says it is event {event.number}; the log was changed")
    return event


def _chained_lines(path: Path) -> Iterator[tuple[int, bytes, str]]:
    chain = START
    try:
        for number, line in enumerate(read_log_lines(path)):
            if not line.endswith(b"\n"):
                return
            recorded = line[-_CHAIN_LENGTH:]
            chain = _link(chain, line[:-_CHAIN_LENGTH] + b"}")
            if recorded != _CHAIN % chain.encode():
                raise RecordError(f"{path}, line {number + 1}: the hash chain is broken; the log was changed")
            yield number, line, chain
    except FileNotFoundError:
        return


def _link(before: str, line: bytes) -> str:
    return hashlib.sha256(before.encode() + line).hexdigest()


def _lines_backwards(path: Path) -> Iterator[bytes]:
    try:
        opened = _open(path)
    except FileNotFoundError:
        return
    with opened as file:
        end = file.seek(0, os.SEEK_END)
        block_size, rest = _FIRST_BLOCK, b""
        while end > 0:
            start = max(0, end - block_size)
            file.seek(start)
            block = file.read(end - start) + rest
            first = block.find(b"\n") + 1 if start > 0 else 0
            if start > 0 and first == 0:
                rest = block
                if len(rest) > MAX_LINE:
                    raise RecordError(f"{path} has a line of more than {MAX_LINE:,} bytes")
            else:
                rest = block[:first]
                for line in reversed(block[first:].splitlines(keepends=True)):
                    if line.endswith(b"\n"):
                        yield line
            end, block_size = start, 2 * block_size
