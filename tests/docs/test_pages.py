"""The commands, links and names in README and docs exist."""

import re
import shlex

import pytest
from click.testing import CliRunner
from pages import ROOT

from assay.cli import assay
from assay.tasks import load_plugin

PAGES = [ROOT / "README.md", ROOT / "examples" / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
COMMAND = re.compile(r"^(?:\$ )?assay (.*)$", re.MULTILINE)
COMMANDS = sorted({match for page in PAGES for match in COMMAND.findall(page.read_text().replace("\\\n", ""))})
OWN_FILES = re.compile(r"study (\w+\.py:|count )")
"""Commands that need a file or a package which their page contains; other tests run them."""


@pytest.mark.parametrize("command", [command for command in COMMANDS if not OWN_FILES.match(command)])
def test_every_command_on_a_page_exists_with_its_options(command):
    words = shlex.split(command, comments=True)
    words = words[words[0] == "--trust" :]
    if words[0] == "--tasks":
        words = words[2:]
    name = words[:2] if words[0] in ("board", "lab", "new", "study") else words[:1]
    help_text = CliRunner().invoke(assay, [*name, "--help"]).output
    assert "Examples:" in help_text
    for option in [word for word in words if word.startswith("--")]:
        assert f"{option} " in help_text or f"{option}\n" in help_text, option


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "SECURITY.md", "examples/README.md"])
def test_links_lead_to_files_that_exist(page):
    path = ROOT / page
    targets = re.findall(r"\]\(((?!http)[^)]+)\)", path.read_text())
    assert targets
    for target in targets:
        assert (path.parent / target).exists(), target


def test_the_examples_page_includes_files_that_exist():
    page = (ROOT / "docs" / "examples.md").read_text()
    included = re.findall(r'^--8<-- "(.+)"$', page, re.M)
    assert included
    assert len(included) == len(re.findall("--8", page)), "a formatter has changed an inclusion"
    for path in included:
        assert (ROOT / path).is_file(), path


def test_every_make_target_in_the_docs_exists():
    makefile = (ROOT / "Makefile").read_text()
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
    text = "\n".join(page.read_text() for page in pages)
    targets = set(re.findall(r"(?:^|`)make ([a-z-]+)(?:`| *$| +#)", text, re.M))
    assert {"demo", "test", "docs"} <= targets
    for target in targets:
        assert f"\n{target}:\n" in makefile, target


def test_every_package_is_on_the_concepts_page():
    page = (ROOT / "docs" / "architecture.md").read_text()
    packages = [path.parent.name for path in (ROOT / "src" / "assay").glob("*/__init__.py")]
    assert packages
    for package in packages:
        assert f"| `{package}/` |" in page, package


def test_the_concepts_page_names_modules_that_exist():
    page = (ROOT / "docs" / "architecture.md").read_text()
    rows = re.findall(r"^\| `(\w+)/` \|.*\| `([\w./]+)` \|$", page, re.M)
    assert len(rows) > 10
    for package, module in rows:
        assert (ROOT / "src" / "assay" / package / module).exists(), f"{package}/{module}"


def test_the_concepts_page_lists_packages_in_the_order_that_lint_enforces():
    page = (ROOT / "docs" / "architecture.md").read_text()
    imports = load_plugin(ROOT / "tools" / "imports.py")
    assert tuple(re.findall(r"^\| `(\w+)/` \|", page, re.M)) == imports.ORDER
