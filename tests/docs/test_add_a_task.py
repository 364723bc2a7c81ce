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
    output = follow_page(
        ROOT / "docs" / "add-a-task.md", assay, {"panel cells --write": "panel cells --write --seeds 1"}
    )
    assert "my-suite/cells: prepared" in output
    assert "is a valid submission for my-suite/cells" in output
    assert re.search(r"rank \d of 4, among 3 reference solutions and itself", output)
    assert (tmp_path / "my-suite/cells/measured.json").is_file()
