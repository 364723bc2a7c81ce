"""The recording of the first ten minutes is made by a script, and no line of it is torn."""

import os
import subprocess
import sys

import pytest
from pages import ROOT


@pytest.mark.slow
def test_no_line_of_the_first_ten_minutes_is_torn(prepared_home, tmp_path):
    tool = [sys.executable, ROOT / "tools" / "record_terminal.py", tmp_path / "page.md"]
    variables = {**os.environ, "ASSAY_HOME": str(prepared_home.root)}
    done = subprocess.run(tool, env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    recorded = (tmp_path / "page.md").read_text()
    page = (ROOT / "docs" / "first-ten-minutes.md").read_text()

    def commands(text):
        return [line for line in text.splitlines() if line.startswith("$ ")]

    assert commands(page) == commands(recorded) and max(map(len, page.splitlines()[4:])) <= 80
