"""The recording of the first ten minutes is made by a script, and no line of it is torn."""

import os
import re
import subprocess
import sys

import pytest
from pages import ROOT

# How long trials took decides which columns of this table fit into the width.
TRIALS = re.compile(r"^(\$ assay status [^\n]*\n)(.+\n)+", re.MULTILINE)


@pytest.mark.slow
def test_no_line_of_the_first_ten_minutes_is_torn(pocket_home, tmp_path):
    tool = [sys.executable, ROOT / "tools" / "record_terminal.py", tmp_path / "page.md"]
    variables = {**os.environ, "ASSAY_HOME": str(pocket_home.root)}
    done = subprocess.run(tool, env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    recorded = (tmp_path / "page.md").read_text()
    page = (ROOT / "docs" / "first-ten-minutes.md").read_text()
    assert mask(page) == mask(recorded), "the page is out of date: python tools/record_terminal.py PAGE"


def mask(text: str) -> list[list[str]]:
    """Return the words of each line without what another run or machine changes: times, sizes, hashes and dates."""
    text = TRIALS.sub(r"\1", text)
    return [re.sub(r"(\b[0-9a-f]{10,}|\b[\d.:-]*\d[hms]?)+", "#", line).split() for line in text.splitlines()]
