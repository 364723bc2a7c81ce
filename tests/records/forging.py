"""How a forger changes the files of a record."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any


def change(path: Path, edit: Callable[[Any], None]) -> None:
    """Edit a JSON file."""
    content = json.loads(path.read_text())
    edit(content)
    path.write_text(json.dumps(content).replace("Infinity", "1e999"))


def forge(path: Path, edit: Callable[[list[dict[str, Any]]], None]) -> None:
    """Edit a log and recompute its hash chain, as a forger who knows the format would."""
    events = [json.loads(line) for line in path.read_text().splitlines()]
    edit(events)
    chain, lines = "0" * 64, []
    for number, event in enumerate(events):
        content = {key: value for key, value in event.items() if key != "chain"} | {"number": number}
        line = json.dumps(content, ensure_ascii=False, separators=(",", ":")).replace("Infinity", "1e999")
        chain = hashlib.sha256((chain + line).encode()).hexdigest()
        lines.append(f'{line[:-1]},"chain":"{chain}"}}\n')
    path.write_text("".join(lines))
