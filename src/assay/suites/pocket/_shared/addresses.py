"""Passages of State of the Union addresses, shared by two tasks."""

import re
from pathlib import Path

PASSAGE = 150
"""Words in a passage."""


def read_passages(folder: Path) -> list[tuple[str, int, str]]:
    """Return (address, year, text) of each passage in order, with digits masked, so that no date gives a year away."""
    passages = []
    for path in sorted(folder.glob("*.txt")):
        words = re.sub(r"[0-9]", "#", path.read_text("utf-8")).split()
        for start in range(0, len(words) - PASSAGE + 1, PASSAGE):
            passages.append((path.stem, int(path.stem[:4]), " ".join(words[start : start + PASSAGE])))
    return passages
