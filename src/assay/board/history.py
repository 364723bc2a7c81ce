"""The history of a board, `history.jsonl`: what was added, rescored and withdrawn, when and why.

Lines are only ever appended. Each has the hash of the line before it, so that one that was changed or removed is
noticed.
"""

import hashlib
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from assay.core.disk import file_lock
from assay.core.errors import RecordError
from assay.core.quantities import Model, Timestamp
from assay.core.table import Column, Table
from assay.core.untrusted import parse_json, read_lines
from assay.records.state import now

Action = Literal["added", "rescored", "withdrawn", "sealed", "revealed"]

_FILE = "history.jsonl"
_START = "0" * 64


class BoardEvent(Model):
    """A line of `history.jsonl`."""

    format: Literal["board-event/1"] = "board-event/1"
    at: Timestamp
    action: Action
    entry: str = ""
    digest: str = ""
    reason: Annotated[str, Field(max_length=400)] = ""
    previous: str


def read_history(board: Path) -> list[BoardEvent]:
    """Return what happened to a board, the oldest first; `RecordError` if a line was changed or removed."""
    events, previous = list[BoardEvent](), _START
    try:
        for number, line in enumerate(read_lines(board / _FILE), 1):
            where = f"{board / _FILE}:{number}"
            try:
                event = BoardEvent.model_validate(parse_json(line, where))
            except ValidationError as error:
                raise RecordError(f"{where} is not an event of a board: {error.error_count()} problems") from None
            if event.previous != previous:
                raise RecordError(f"{where} does not follow the line before it: the history was changed")
            events.append(event)
            previous = hashlib.sha256(line).hexdigest()
    except FileNotFoundError:
        return []
    return events


def append_event(board: Path, action: Action, entry: str = "", digest: str = "", reason: str = "") -> None:
    """Append a line to the history of a board."""
    path = board / _FILE
    with file_lock(board / ".history.lock"):
        events = read_history(board)
        last = path.read_bytes().splitlines(keepends=True)[-1] if events else b""
        previous = hashlib.sha256(last).hexdigest() if events else _START
        event = BoardEvent(at=now(), action=action, entry=entry, digest=digest, reason=reason, previous=previous)
        with path.open("ab") as file:
            file.write(event.model_dump_json().encode() + b"\n")


def make_history_table(events: list[BoardEvent]) -> Table:
    """Return the history as a table, the newest first."""
    columns = (Column("at"), Column("action"), Column("entry"), Column("reason", kind="prose"))
    rows = tuple((event.at, event.action, event.entry, event.reason) for event in reversed(events))
    return Table("history", columns, rows, title="History")
