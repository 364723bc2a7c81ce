"""Commands import only what they need, so that they start fast."""

import subprocess
import sys

import pytest

from assay.core.home import Home
from tiny_run import TESTS, prepare_tiny

AGENT_RUNTIME = {
    "assay.agents",
    "assay.runs",
    "assay.lab.sandboxes.bubblewrap",
    "inspect_ai",
    "openai",
    "anthropic",
    "flaml",
}
HEAVY = {"sklearn", "scipy", "pandas", "jinja2", "matplotlib"}

SHOW_MODULES = """
import sys
from assay.cli import main
sys.argv = ["assay", *{words!r}]
try:
    main()
finally:
    print("MODULES", *sys.modules)
"""


def modules_after(home: Home, *words: str) -> set[str]:
    result = subprocess.run(
        [sys.executable, "-c", SHOW_MODULES.format(words=words)],
        env={"ASSAY_HOME": str(home.root), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    return set(result.stdout.rpartition("MODULES")[2].split())


@pytest.mark.parametrize("words", [["--help"], ["tasks"], ["run", "--help"], ["grade", "--help"]])
def test_help_and_lists_import_neither_agents_nor_numeric_libraries(home, words):
    loaded = modules_after(home, *words)
    assert not loaded & (AGENT_RUNTIME | HEAVY)


def test_help_does_not_import_pydantic(home):
    assert not modules_after(home, "--help") & {"pydantic", "numpy", "polars", "rich"}


def test_a_run_is_driven_and_reported_without_what_only_trials_need(home, tmp_path):
    prepare_tiny(home)
    suite, run = str(TESTS / "tiny"), str(tmp_path / "run")
    loaded = modules_after(
        home, "--trust", "--tasks", suite, "run", "tiny", "--agent", "starter", "--out", run, "--quiet"
    )
    assert "assay.runs.driver" in loaded
    assert not loaded & (HEAVY | {"polars", "inspect_ai", "assay.runs.trial", "assay.grading.grade"})
    assert "assay.records.events" not in modules_after(home, "report", run)


def test_grading_a_table_imports_neither_agents_nor_heavy_libraries(pocket_home):
    from assay.data.store import load_prepared
    from assay.tasks import Registry

    sample = load_prepared(pocket_home, Registry().task("pocket/house-price")).public / "sample_submission.csv"
    loaded = modules_after(pocket_home, "grade", str(sample), "pocket/house-price")
    assert "polars" in loaded
    assert not loaded & (AGENT_RUNTIME | HEAVY | {"anyio"})
