"""README and the architecture page say what is so."""

import re
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
COMMANDS = [line.partition("#")[0].strip() for line in README.splitlines() if line.startswith("assay ")]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_in_the_readme_exists_with_its_options(assay, command):
    _, *words = shlex.split(command)
    name = words[:2] if words[0] == "lab" else words[:1]
    shown = assay(*name, "--help").stdout
    assert "Example:" in shown
    for option in [word for word in words if word.startswith("--")]:
        assert option in shown


def test_the_readme_shows_a_picture_and_links_to_pages_that_are_there():
    targets = re.findall(r"\]\(((?!http)[^)]+)\)", README)
    assert "docs/demo.png" in targets
    for target in targets:
        assert (ROOT / target).is_file(), target


def test_every_package_is_in_the_layout_of_the_architecture_page():
    page = (ROOT / "docs" / "architecture.md").read_text()
    packages = [path.parent.name for path in (ROOT / "src" / "assay").glob("*/__init__.py")]
    assert packages
    for package in packages:
        assert f"`{package}/`" in page, package
