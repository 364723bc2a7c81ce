"""Tells what lies in the data folder and which packages are installed, as JSON. Runs inside the lab, before any agent.

Takes the most letters to use for the data as its argument. Tables are summed up by their columns where there is room,
else by the names of these. Only the beginning of a table is read.
"""

import csv
import json
import sys
from collections import Counter
from importlib.metadata import distributions
from pathlib import Path

DATA = Path("data")
ROWS = 2_000
FILES = 8
DEEPEST = 3
COLUMNS = 40
TABLES = 12
TEXTS = {".json", ".md", ".txt"}
SEPARATORS = {".csv": ",", ".tsv": "\t"}


def main(most: int) -> None:
    """Print the preview."""
    tree = "\n".join(listing(DATA, 0))
    files = [path for path in sorted(DATA.rglob("*"))[:10_000] if path.is_file()]
    tables = sorted((path for path in files if path.suffix in SEPARATORS), key=importance)
    texts = [path for path in files if path.suffix in TEXTS][:4]
    for describe in (summary, names):
        parts = [tree, *(describe(path) for path in tables[:TABLES]), *(beginning(path) for path in texts)]
        if len(tables) > TABLES:
            parts.append(f"({len(tables) - TABLES} more tables)")
        told = "\n\n".join(parts)
        if len(told) <= most:
            break
    packages = sorted({f"{found.metadata['Name']} {found.version}" for found in distributions()}, key=str.lower)
    print(json.dumps({"data": told[:most], "packages": packages}))


def importance(path: Path) -> tuple[int, int]:
    """Tables that are not deep down go first, and of these the large ones."""
    return len(path.parts), -path.stat().st_size


def listing(folder: Path, depth: int) -> list[str]:
    """A folder and what is in it, with sizes; of many alike only the first."""
    inside = sorted(folder.iterdir())
    files = [path for path in inside if not path.is_dir()]
    lines = ["  " * depth + f"{folder.name}/"]
    lines += ["  " * (depth + 1) + f"{path.name} ({size(path.stat().st_size)})" for path in files[:FILES]]
    if len(files) > FILES:
        kinds = ", ".join(f"{count:,} {kind or 'without ending'}" for kind, count in endings(files[FILES:]))
        lines.append("  " * (depth + 1) + f"… and {len(files) - FILES:,} more files: {kinds}")
    folders = [path for path in inside if path.is_dir()]
    for path in folders[:FILES]:
        lines += listing(path, depth + 1) if depth < DEEPEST else ["  " * (depth + 1) + f"{path.name}/ …"]
    if len(folders) > FILES:
        lines.append("  " * (depth + 1) + f"… and {len(folders) - FILES:,} more folders")
    return lines


def endings(files: list[Path]) -> list[tuple[str, int]]:
    """The commonest endings of files."""
    return Counter(path.suffix for path in files).most_common(5)


def size(count: int) -> str:
    """A size as a person writes it."""
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} GB"


def summary(path: Path) -> str:
    """A table by its columns: what kind of values, how many different ones, how many missing, and examples."""
    header, rows = beginning_of_table(path)
    more = len(rows) == ROWS
    told = [f"{path}: {'the first ' if more else ''}{len(rows):,} rows, {len(header):,} columns"]
    for place, name in enumerate(header[:COLUMNS]):
        told.append(f"  {name}: {column([row[place] for row in rows if place < len(row)])}")
    if len(header) > COLUMNS:
        told.append(f"  … and {len(header) - COLUMNS:,} more columns, the last being {header[-1]}")
    return "\n".join(told)


def names(path: Path) -> str:
    """A table by the names of its columns."""
    header, _ = beginning_of_table(path)
    shown = ", ".join(header[:COLUMNS]) + (f", … ({len(header):,} in all)" if len(header) > COLUMNS else "")
    return f"{path}: columns {shown}"


def beginning_of_table(path: Path) -> tuple[list[str], list[list[str]]]:
    """The header and the first rows."""
    csv.field_size_limit(10**8)
    rows = []
    try:
        with path.open(newline="", errors="replace") as file:
            for row in csv.reader(file, delimiter=SEPARATORS[path.suffix]):
                rows.append(row)
                if len(rows) > ROWS:
                    break
    except csv.Error:
        pass
    return (rows[0], rows[1:]) if rows else ([], [])


def column(values: list[str]) -> str:
    """What a column holds."""
    present = [value for value in values if value.strip()]
    missing = f", {1 - len(present) / len(values):.0%} missing" if len(present) < len(values) else ""
    different = len(set(present))
    try:
        numbers = [float(value) for value in present]
    except ValueError:
        examples = ", ".join(repr(value[:30]) for value in dict.fromkeys(present[:50]))
        return f"text, {different:,} different, such as {examples[:90]}{missing}"
    if not numbers:
        return "empty"
    return f"numbers from {min(numbers):g} to {max(numbers):g}, {different:,} different{missing}"


def beginning(path: Path) -> str:
    """How a text begins."""
    with path.open(errors="replace") as file:
        text = file.read(301)
    return f"{path} begins:\n{text[:300]}{' …' if len(text) > 300 else ''}"


if __name__ == "__main__":
    main(int(sys.argv[1]))
