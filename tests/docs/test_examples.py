"""The examples work as their README says."""

import re
import shutil

import pytest
from pages import ROOT, follow_page


@pytest.mark.slow
def test_following_the_readme_prepares_runs_and_reads(assay, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    output = follow_page(tmp_path / "examples" / "README.md", assay, {"--seeds 3": "--seeds 1"})
    assert "my-suite/waves: prepared" in output
    assert "RandomSearch steps=3  1 task, 1 trial" in output
    assert re.search(r"^best of 3: depth \d+, .* score 0\.\d+, reward 0\.\d+$", output, re.MULTILINE)
    summary = output.partition("count")[2]
    assert "Forest" in summary and "starter" in summary
    assert summary.count("graded") == 2, "two agents with one seed each, both graded"
