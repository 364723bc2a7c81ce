"""The reference pages are generated from the code."""

import importlib

from pages import ROOT

from assay.cli import COMMANDS
from assay.tasks import load_plugin

reference_pages = load_plugin(ROOT / "tools" / "reference_pages.py")


def test_every_command_is_in_the_command_reference_with_its_options():
    page = reference_pages.command_page()
    assert [command for command in COMMANDS if f"### assay {command}\n" not in page] == []
    assert "#### assay lab check\n" in page
    assert "<code>--agent NAME" in page
    assert "Examples:\n\n```text\nassay tasks\n" in page


def test_the_python_reference_lists_the_public_names_of_every_package_that_has_some():
    page = reference_pages.python_page()
    for path in sorted((ROOT / "src" / "assay").glob("*/__init__.py")):
        package = f"assay.{path.parent.name}"
        names = getattr(importlib.import_module(package), "__all__", [])
        if names and path.parent.name not in reference_pages.INTERNAL:
            section = page.partition(f"## {package}\n")[2].partition("\n## ")[0]
            assert [name for name in names if f"- {name}\n" not in section] == [], package
