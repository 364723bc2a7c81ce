"""Print an overview of the data folder and the installed packages as JSON. Runs inside the lab, before the search.

The argument is the max length of the data overview. Tables are summarized by column if there is room, otherwise only
the column names are listed. Only the beginning of each table is read.
"""

import csv
import json
import sys
from collections import Counter
from importlib.metadata import distributions
from pathlib import Path

DATA = Path("data")
MAX_ROWS = 2_000
MAX_FILES = 8
MAX_DEPTH = 3
MAX_COLUMNS = 40
MAX_TABLES = 12
TEXT_SUFFIXES = {".json", ".md", ".txt"}
SEPARATORS = {".csv": ",", ".tsv": "\t"}


def main(max_length: int) -> None:
    """Print the overview."""
    tree = "\n".join(list_folder(DATA, 0))
    files = [path for path in sorted(DATA.rglob("*"))[:10_000] if path.is_file()]
    tables = sorted((path for path in files if path.suffix in SEPARATORS), key=rank)
    texts = [path for path in files if path.suffix in TEXT_SUFFIXES][:4]
    overview = ""
    for describe in (summarize_columns, list_columns):
        parts = [tree, *(describe(path) for path in tables[:MAX_TABLES]), *(show_beginning(path) for path in texts)]
        if len(tables) > MAX_TABLES:
            parts.append(f"({len(tables) - MAX_TABLES} more tables)")
        overview = "\n\n".join(parts)
        if len(overview) <= max_length:
            break
    packages = sorted({f"{found.metadata['Name']} {found.version}" for found in distributions()}, key=str.lower)
    print(json.dumps({"data": overview[:max_length], "packages": packages}))


def rank(path: Path) -> tuple[int, int]:
    """Rank tables: those at the top first, and of these the large ones."""
    return len(path.parts), -path.stat().st_size


def list_folder(folder: Path, depth: int) -> list[str]:
    """List a folder recursively with file sizes; of many files only the first few."""
    entries = sorted(folder.iterdir())
    files = [path for path in entries if not path.is_dir()]
    lines = ["  " * depth + f"{folder.name}/"]
    lines += ["  " * (depth + 1) + f"{path.name} ({format_size(path.stat().st_size)})" for path in files[:MAX_FILES]]
    if len(files) > MAX_FILES:
        suffixes = Counter(path.suffix for path in files[MAX_FILES:]).most_common(5)
        kinds = ", ".join(f"{count:,} {suffix or 'without extension'}" for suffix, count in suffixes)
        lines.append("  " * (depth + 1) + f"… and {len(files) - MAX_FILES:,} more files: {kinds}")
    folders = [path for path in entries if path.is_dir()]
    for path in folders[:MAX_FILES]:
        lines += list_folder(path, depth + 1) if depth < MAX_DEPTH else ["  " * (depth + 1) + f"{path.name}/ …"]
    if len(folders) > MAX_FILES:
        lines.append("  " * (depth + 1) + f"… and {len(folders) - MAX_FILES:,} more folders")
    return lines


def format_size(size: float) -> str:
    """Return a size in bytes with a unit."""
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} GB"


def summarize_columns(path: Path) -> str:
    """Summarize a table by column: type, range or examples, distinct and missing values."""
    header, rows = read_beginning(path)
    first = "first " if len(rows) == MAX_ROWS else ""
    lines = [f"{path}: {first}{len(rows):,} rows, {len(header):,} columns"]
    for index, name in enumerate(header[:MAX_COLUMNS]):
        lines.append(f"  {name}: {summarize_values([row[index] for row in rows if index < len(row)])}")
    if len(header) > MAX_COLUMNS:
        lines.append(f"  … and {len(header) - MAX_COLUMNS:,} more columns, up to {header[-1]}")
    return "\n".join(lines)


def list_columns(path: Path) -> str:
    """List the column names of a table."""
    header, _ = read_beginning(path)
    more = f", … ({len(header):,} in total)" if len(header) > MAX_COLUMNS else ""
    return f"{path}: columns {', '.join(header[:MAX_COLUMNS])}{more}"


def read_beginning(path: Path) -> tuple[list[str], list[list[str]]]:
    """Return the header and the first rows of a table."""
    csv.field_size_limit(10**8)
    rows = []
    try:
        with path.open(newline="", errors="replace") as file:
            for row in csv.reader(file, delimiter=SEPARATORS[path.suffix]):
                rows.append(row)
                if len(rows) > MAX_ROWS:
                    break
    except csv.Error:
        pass  # the rows before a malformed one are overview enough
    return (rows[0], rows[1:]) if rows else ([], [])


def summarize_values(values: list[str]) -> str:
    """Summarize the values of a column."""
    present = [value for value in values if value.strip()]
    missing = f", {1 - len(present) / len(values):.0%} missing" if len(present) < len(values) else ""
    distinct = len(set(present))
    try:
        numbers = [float(value) for value in present]
    except ValueError:
        examples = ", ".join(repr(value[:30]) for value in dict.fromkeys(present[:50]))
        return f"text, {distinct:,} distinct, e.g. {examples[:90]}{missing}"
    if not numbers:
        return "empty"
    return f"numeric, {min(numbers):g} to {max(numbers):g}, {distinct:,} distinct{missing}"


def show_beginning(path: Path) -> str:
    """Return the first characters of a text file."""
    with path.open(errors="replace") as file:
        text = file.read(301)
    return f"{path} starts with:\n{text[:300]}{' …' if len(text) > 300 else ''}"


if __name__ == "__main__":
    main(int(sys.argv[1]))
