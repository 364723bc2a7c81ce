"""The walk-through in `docs/add-a-task.md` works as written."""

import re
from pathlib import Path

import pytest
from pages import ROOT, follow_page

from command_line import Assay


@pytest.mark.slow
def test_following_the_page_creates_a_task_that_can_be_run_and_graded(
    assay: Assay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    fewer = {
        "panel cells --write": "panel cells --write --seeds 1",
        "--metric mae --group street": "--metric mae --group street --seeds 1 --panel-seeds 0",
    }
    output = follow_page(ROOT / "docs" / "add-a-task.md", assay, fewer)
    assert "To run agents on it, run: assay run own/houses" in output
    assert "my-suite/cells: prepared" in output
    assert "is a valid submission for my-suite/cells" in output
    assert re.search(r"rank \d of 4, among 3 reference solutions and itself", output)
    assert (tmp_path / "my-suite/cells/measured.json").is_file()
