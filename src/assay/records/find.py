"""Find runs in a folder."""

import os
from collections.abc import Iterator
from pathlib import Path

_NO_RUNS = ("node_modules", "site-packages", "__pycache__")


def find_runs(folder: Path, *, max_depth: int = 6, follow_links: bool = False) -> Iterator[Path]:
    """Yield the run folders at or below a folder, with at most `max_depth` folders between; runs contain no others."""
    if (folder / "run.json").is_file():
        yield folder
        return
    pending = [(folder, 0)]
    while pending:
        parent, depth = pending.pop()
        try:
            with os.scandir(parent) as entries:
                visible = [entry for entry in entries if not entry.name.startswith(".")]
                below = sorted(entry.path for entry in visible if entry.is_dir(follow_symlinks=follow_links))
        except OSError:
            continue
        for path in map(Path, below):
            if (path / "run.json").is_file():
                yield path
            elif depth < max_depth and path.name not in _NO_RUNS:
                pending.append((path, depth + 1))


def list_newest_runs(folder: Path) -> list[Path]:
    """Return the runs in a folder and in the folders in it, such as `runs/`, the newest first."""
    runs = find_runs(folder, max_depth=1, follow_links=True)
    return sorted(runs, key=lambda run: (run / "run.json").stat().st_mtime, reverse=True)
