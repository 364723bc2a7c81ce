"""Small tables beside large files of other formats, written without pandas, which takes long to load."""

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path


def write_table(path: Path, names: Sequence[str], rows: Iterable[Sequence[str | int]]) -> None:
    """Write a CSV file as pandas does: by the same writer of the standard library."""
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([names, *rows])
