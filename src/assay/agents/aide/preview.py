"""Print an overview of the data folder and the installed packages as JSON. Runs inside the lab, before the search.

The argument is the max length of the data overview. As many columns are summarized as there is room for, and all others
are named; only if even the names do not fit is each part cut. Only the beginning of each table is read.
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
MIN_RUN = 4
DETAIL_LEVELS = (1_000, 40, 10, 0)
MAX_TABLES = 12
TEXT_SUFFIXES = {".json", ".md", ".txt"}
SEPARATORS = {".csv": ",", ".tsv": "\t"}

Table = tuple[Path, list[str]]


def main(max_length: int) -> None:
    """Print the overview."""
    tree = "\n".join(list_folder(DATA, 0))
    files = [path for path in sorted(DATA.rglob("*"))[:10_000] if path.is_file()]
    tables = sorted((path for path in files if path.suffix in SEPARATORS), key=rank)
    texts = [path for path in files if path.suffix in TEXT_SUFFIXES][:4]
    overview = ""
    for max_detailed in DETAIL_LEVELS:
        known: list[Table] = []
        summaries = [summarize_columns(path, known, max_detailed) for path in tables[:MAX_TABLES]]
        if len(tables) > MAX_TABLES:
            summaries.append(f"({len(tables) - MAX_TABLES} more tables)")
        overview = "\n\n".join([tree, *summaries, *(show_beginning(path) for path in texts)])
        if len(overview) <= max_length:
            break
    else:
        overview = shorten([tree, *summaries], max_length)
    packages = sorted(
        {f"{distribution.metadata['Name']} {distribution.version}" for distribution in distributions()}, key=str.lower
    )
    print(json.dumps({"data": overview, "packages": packages}))


def shorten(parts: list[str], max_length: int) -> str:
    """Cut the longest parts so that all of them fit."""
    room = max_length - 2 * (len(parts) - 1)
    share = room
    for left, length in zip(range(len(parts), 0, -1), sorted(map(len, parts)), strict=True):
        share = max(room // left, 0)
        room -= min(length, share)
    return "\n\n".join(part if len(part) <= share else part[: max(share - 2, 0)] + " …" for part in parts)[:max_length]


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


def summarize_columns(path: Path, known: list[Table], max_detailed: int) -> str:
    """Summarize a table by column: type, range or examples, distinct and missing values.

    Columns beyond `max_detailed` are only named. So are all columns of a table that resembles an earlier one.
    """
    header, rows = read_beginning(path)
    first = "first " if len(rows) == MAX_ROWS else ""
    title = f"{path}: {first}{len(rows):,} rows, {len(header):,} columns"
    if alike := find_alike(header, known):
        return f"{title}, {compare_columns(header, alike)}"
    known.append((path, header))
    lines = [title]
    for index, name in enumerate(header[:max_detailed]):
        lines.append(f"  {name}: {summarize_values([row[index] for row in rows if index < len(row)])}")
    if len(header) > max_detailed:
        lines.append(f"  and: {name_columns(header[max_detailed:])}" if max_detailed else f"  {name_columns(header)}")
    return "\n".join(lines)


def find_alike(header: list[str], known: list[Table]) -> Table | None:
    """Return an earlier table with nearly the same columns."""
    if len(header) < 4:
        return None
    return next((table for table in known if len(set(header) ^ set(table[1])) <= max(2, len(header) // 10)), None)


def compare_columns(header: list[str], alike: Table) -> str:
    """Say how the columns of a table differ from those of an earlier one."""
    path, others = alike
    own, theirs = set(header), set(others)
    missing, extra = [name for name in others if name not in own], [name for name in header if name not in theirs]
    parts = [f"the same columns as {path}"]
    if missing:
        parts.append(f"without {name_columns(missing)}")
    if extra:
        parts.append(f"{'and ' if missing else ''}with {name_columns(extra)} in addition")
    return " ".join(parts)


def name_columns(names: list[str]) -> str:
    """Name all columns; a run of numbered ones such as `f_0` to `f_199` by its ends."""
    parts: list[str] = []
    index = 0
    while index < len(names):
        end = index + 1
        while end < len(names) and follows(names[end - 1], names[end]):
            end += 1
        if end - index >= MIN_RUN:
            parts.append(f"{names[index]} to {names[end - 1]} ({end - index:,} columns)")
        else:
            parts += names[index:end]
        index = end
    return ", ".join(parts)


def follows(name: str, successor: str) -> bool:
    """Whether two names differ only in a number that goes up by one."""
    stem, successor_stem = name.rstrip("0123456789"), successor.rstrip("0123456789")
    number, next_number = name[len(stem) :], successor[len(successor_stem) :]
    if stem != successor_stem or not number or not next_number or max(len(number), len(next_number)) > 9:
        return False
    return int(next_number) == int(number) + 1


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
