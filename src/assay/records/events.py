"""The append-only log of a trial: one JSON line per event, each chained by hash to the one before."""

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from assay.errors import RecordError

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
    """

    def __init__(self, path: Path, epoch: int) -> None:
        self._epoch = epoch
        self._number, self._chain, whole = 0, START, 0
        if path.exists():
            for event, end in _lines(path):
                self._number, self._chain, whole = event.number + 1, event.chain, end
        self._file = path.open("ab")
        self._file.truncate(whole)

    def append(self, kind: str, **about: Any) -> None:
        """Write one event durably."""
        self.add(kind, **about)
        os.fsync(self._file.fileno())

    def add(self, kind: str, **about: Any) -> None:
        """Write one event that outlives this process, and a power cut once another is appended."""
        content = {
            "n": self._number,
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "epoch": self._epoch,
            "kind": kind,
            **about,
        }
        self._chain = _link(self._chain, content)
        self._file.write(_line({**content, "chain": self._chain}))
        self._file.flush()
        self._number += 1

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> "EventLog":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


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
