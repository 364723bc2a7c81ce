"""JSON lines: one JSON object per line, read and written one at a time."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from assay.core.errors import SourceError

Record = dict[str, Any]


def read_json_lines(path: Path) -> Iterator[Record]:
    """Yield the records of a file; only one is in memory at a time."""
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                yield json.loads(line)
            except ValueError as error:
                raise SourceError(f"{path.name}, line {number} is not JSON: {error}") from None


def write_json_lines(path: Path, records: Iterable[Record]) -> None:
    """Write records with Python's default separators, ASCII only."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)
