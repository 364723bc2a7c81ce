"""Whether the contents that a trial's log names are kept, under the hashes it names them by."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from assay.core.disk import hash_file
from assay.records.events import Event


def check_snapshots(store: Path, events: list[Event]) -> Iterator[tuple[str, str]]:
    """What is wrong with a store of snapshots: which part of it, and what about it."""
    objects, manifests = store / "objects", store / "manifests"
    there = {path.name for path in objects.iterdir()} if objects.is_dir() else set()
    for name in sorted(there):
        # A name with a dot is a copy that a crash interrupted.
        if not name.startswith(".") and hash_file(objects / name) != name:
            yield f"snapshots/objects/{name}", "its content does not have the hash it is named by: it was changed"
    known = dict.fromkeys(str(event.about.get("id")) for event in events if event.kind == "snapshot")
    for id in known:
        path = manifests / f"{id}.json"
        if not path.is_file():
            yield f"snapshots/manifests/{path.name}", "the log names this snapshot, but it is missing"
        elif hash_file(path) != id:
            yield f"snapshots/manifests/{path.name}", "its content does not have the hash it is named by"
        else:
            for digest in _named(json.loads(path.read_text())["files"].values()) - there:
                yield f"snapshots/objects/{digest}", f"snapshot {id[:10]} names this content, but it is missing"
    for digest in sorted(_named(event.about.get("result") for event in events if _is_read(event)) - there):
        yield f"snapshots/objects/{digest}", "the log names this content, but it is missing"


def _is_read(event: Event) -> bool:
    return event.kind == "observation" and event.about.get("what") == "read"


def _named(entries: Any) -> set[str]:
    return {str(entry["sha256"]) for entry in entries if isinstance(entry, dict) and "sha256" in entry}
