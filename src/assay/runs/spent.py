"""What a trial has used up so far, read from the end of its log while it is being written."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from assay.records import TrialFolder

_FIRST_LOOK = 2**16


@dataclass(frozen=True)
class Used:
    """Seconds, steps, tokens and dollars; the cost is None where a price is not known."""

    elapsed: float = 0.0
    steps: int = 0
    tokens: int = 0
    cost: float | None = 0.0
    at: datetime | None = None


def used_so_far(folder: TrialFolder) -> Used:
    """What the last thing that came of a deed says was used up by then."""
    for event in events_backwards(folder):
        used = event.get("used") or (event.get("state") if event.get("kind") == "submitted" else None)
        if isinstance(used, dict):
            return Used(
                elapsed=float(used["elapsed"]),
                steps=int(used["steps"]),
                tokens=int(used["tokens"]),
                cost=used["cost"],
                at=datetime.fromisoformat(event["time"]),
            )
    return Used()


def events_backwards(folder: TrialFolder) -> Iterator[dict[str, Any]]:
    """The events of a log from the last to the first, without reading more of it than is asked for.

    A line that is being written just now is left out; the chain is not checked.
    """
    if not folder.events.exists():
        return
    with folder.events.open("rb") as file:
        end = file.seek(0, 2)
        look, rest = _FIRST_LOOK, b""
        while end > 0:
            start = max(0, end - look)
            file.seek(start)
            block = file.read(end - start) + rest
            first = block.find(b"\n") + 1 if start > 0 else 0
            if start > 0 and first == 0:
                rest = block
            else:
                rest = block[:first]
                for line in reversed(block[first:].splitlines(keepends=True)):
                    if line.endswith(b"\n"):
                        yield json.loads(line)
            end, look = start, 2 * look
