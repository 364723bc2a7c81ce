"""Descriptions are prompts: each is the pinned text, with its sections in one order."""

import re
from pathlib import Path

import pytest

from assay.tasks import load_plugin

TOOL = load_plugin(Path(__file__).parents[2] / "tools" / "pin_descriptions.py")
DESCRIPTIONS = sorted(path for path in TOOL.SUITES.glob("*/*/description.md"))
BACKGROUND = ["Problem", "Files", "Interface", "Columns", "Fields", "Labels", "Grades", "Predictions"]
ORDER = [*BACKGROUND, "Score", "Submission", "Starter code", "Baseline", "Rules"]
REQUIRED = {"Files", "Score", "Submission"}


def name_text(path: Path) -> str:
    return path.relative_to(TOOL.SUITES).as_posix()


def test_every_description_is_the_pinned_one() -> None:
    pins, hashes = TOOL.read_pins(), TOOL.hash_descriptions()
    changed = sorted(path for path in pins.keys() | hashes.keys() if pins.get(path) != hashes.get(path))
    assert changed == [], (
        "A changed prompt is a changed benchmark. If it is meant to change, run `make pin-descriptions` and say so in "
        "CHANGELOG.md."
    )


@pytest.mark.parametrize("path", DESCRIPTIONS, ids=name_text)
def test_sections_come_in_one_order(path: Path) -> None:
    text = re.sub("```.*?```", "", path.read_text("utf-8"), flags=re.DOTALL)
    sections = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert set(sections) >= REQUIRED
    assert sections == sorted(sections, key=ORDER.index)
