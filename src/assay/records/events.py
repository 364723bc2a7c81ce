"""The append-only log of a trial: one JSON line per event, each chained by hash to the one before."""

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from assay.core.disk import atomic_write
from assay.core.errors import RecordError

START = "0" * 64


@dataclass(frozen=True)
class Event:
    """One line of the log: the n-th event, by the writer of that epoch."""

    number: int
    time: str
    epoch: int
    kind: str
    about: dict[str, Any]
    chain: str


class EventLog:
    """Appends events; each is on disk before `append` returns, and with it all that were added before.

    A line that a crash tore in two is cut off when the log is opened again. The chain shows a later edit of any line;
    it cannot show that somebody rewrote the whole log, for which its last hash must be kept elsewhere.

    `check` raises once this writer may write no more. Where an earlier writer may still be alive, the log is kept
    `apart` from the file that it has open: a copy takes its place, and whatever goes to the old one is gone.
    """

    def __init__(self, path: Path, epoch: int, *, check: Callable[[], None] | None = None, apart: bool = False) -> None:
        self._epoch, self._check = epoch, check or _nothing_to_check
        self._number, self._chain, self._whole = 0, START, 0
        self._fault: OSError | None = None
        if apart and path.exists():
            atomic_write(path, path.read_bytes(), check=self._check)
        self._file = path.open("ab", buffering=0)
        try:
            # Only after opening: whoever is still good by then has not opened a later writer's copy.
            self._check()
            for event, end in _lines(path):
                self._number, self._chain, self._whole = event.number + 1, event.chain, end
            self._file.truncate(self._whole)
        except BaseException:
            self._file.close()
            raise

    def append(self, kind: str, **about: Any) -> None:
        """Write one event durably."""
        self.add(kind, **about)
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            # Nobody can tell what of it is on disk now: only whoever reads the log anew may go on with it.
            self._fault = error
            raise

    def add(self, kind: str, **about: Any) -> None:
        """Write one event that outlives this process, and a power cut once another is appended."""
        if self._fault:
            raise self._fault
        self._check()
        content = {
            "n": self._number,
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "epoch": self._epoch,
            "kind": kind,
            **about,
        }
        chain = _link(self._chain, content)
        self._write(_line({**content, "chain": chain}))
        self._number, self._chain = self._number + 1, chain

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> "EventLog":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _write(self, line: bytes) -> None:
        """Write a line whole or not at all: half of one, where a disk is full, would spoil every line after it."""
        written = 0
        try:
            while written < len(line):
                written += self._file.write(line[written:])
        except OSError as error:
            try:
                self._file.truncate(self._whole)
            except OSError:
                self._fault = error
            raise
        self._whole += len(line)


def _nothing_to_check() -> None:
    """For a log that only one process knows of."""


def read_events(path: Path) -> list[Event]:
    """All whole events of a log; a torn last line is left out, any other damage is a `RecordError`."""
    return [event for event, _ in _lines(path)]


def _lines(path: Path) -> Iterator[tuple[Event, int]]:
    chain, end = START, 0
    with path.open("rb") as file:
        for number, line in enumerate(file):
            if not line.endswith(b"\n"):
                return
            try:
                content = json.loads(line)
                told = content.pop("chain")
                chain = _link(chain, content)
            except (ValueError, KeyError, TypeError, AttributeError):
                raise RecordError(f"{path}, line {number + 1}: not an event") from None
            if told != chain or content["n"] != number:
                raise RecordError(f"{path}, line {number + 1}: the hash chain is broken; the log was changed")
            end += len(line)
            about = {key: value for key, value in content.items() if key not in ("n", "time", "epoch", "kind")}
            yield Event(number, content["time"], content["epoch"], content["kind"], about, chain), end


def _link(before: str, content: dict[str, Any]) -> str:
    return hashlib.sha256(before.encode() + _line(content)).hexdigest()


def _line(content: dict[str, Any]) -> bytes:
    return json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode() + b"\n"
