"""The walk-through in `docs/add-a-task.md` works as written."""

import re
from pathlib import Path

import pytest
from pages import ROOT, follow_page

from assay.core.home import Home


@pytest.mark.slow
def test_following_the_page_creates_a_task_that_can_be_run_and_graded(home: Home, tmp_path: Path) -> None:
    output = follow_page(ROOT / "docs" / "add-a-task.md", home, tmp_path)
    assert "my-suite/cells: prepared" in output
    assert "is a valid submission for my-suite/cells" in output
    assert re.search(r"rank \d of 4, among 3 reference solutions and itself", output)
    assert (tmp_path / "my-suite/cells/measured.json").is_file()
