"""The page on training: its program finds the best of three models without seeing a test score."""

import re

from pages import ROOT, follow_page


def test_the_program_of_the_page_prints_what_the_page_shows(assay, home, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_HOME", str(home.root))
    page = ROOT / "docs" / "training.md"
    output = follow_page(page, assay)
    expected = re.search(r"^depth \d: score [\d.]+, reward [\d.]+$", page.read_text(), re.MULTILINE)
    assert expected and expected[0] in output
