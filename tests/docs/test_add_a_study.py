"""The study of docs/studies.md works as the page says: as a file, and from a package."""

import json
import re

import pytest
from pages import ROOT

from assay.core import plugins

PAGE = (ROOT / "docs" / "studies.md").read_text()
(EXAMPLE,) = re.findall(r"```python\n(.*?)```", PAGE[PAGE.index("## Add a study") :], re.DOTALL)


@pytest.fixture
def run(assay, tiny, tmp_path, monkeypatch):
    """A finished run, and the study beside it."""
    assert tiny.call(*tiny.run_words("starter", seeds=2)).returncode == 0
    (tmp_path / "speed.py").write_text(EXAMPLE)
    monkeypatch.chdir(tmp_path)
    return tiny.folder.path


def test_a_file_is_a_study_with_every_output(assay, run, tmp_path):
    printed = assay("study", "speed.py:STUDY", run, "--slow", "0", "--figure", "speed.svg", "--html", "speed.html")
    assert printed.returncode == 0, printed.stderr
    assert "2 of 2 trials took more than 0 seconds" in printed.stdout
    assert (tmp_path / "speed.svg").read_text().startswith("<svg")
    assert "2 of 2 trials" in (tmp_path / "speed.html").read_text()
    content = json.loads(assay("study", "speed.py:STUDY", run, "--json").stdout)
    assert content["format"] == "study/2" and content["settings"] == {"valid_only": False, "slow": 60.0}
    assert [row["seed"] for row in content["tables"]["trials"]["rows"]] == [1, 2]
    header, *rows = assay("study", "speed.py:STUDY", run, "--csv").stdout.splitlines()
    assert header == "agent,task,seed,elapsed" and len(rows) == 2
    assert "| agent | task |" in assay("study", "speed.py:STUDY", run, "--markdown").stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--slow", "-1"], "--slow"),
        (["--json", "--csv"], "Pass only one of --json and --csv"),
        (["--csv", "--table", "trial"], "did you mean trials?"),
    ],
)
def test_wrong_settings_are_usage_errors(assay, run, words, message):
    refused = assay("study", "speed.py:STUDY", run, *words)
    assert refused.returncode == 2 and message in refused.stderr


@pytest.fixture
def package(tmp_path, monkeypatch):
    """An installed package that registers the study."""
    info = tmp_path / "speed-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: speed\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[assay.studies]\nspeed = speed:STUDY\n")
    monkeypatch.syspath_prepend(tmp_path)
    plugins._registered.cache_clear()
    yield
    plugins._registered.cache_clear()


def test_a_package_registers_its_study(assay, run, package):
    assert "Show how long trials take." in assay("study", "--help").stdout
    printed = assay("study", "speed", run, "--valid-only", "--slow", "0").stdout
    assert "of 2 trials took more than 0 seconds" in printed


def test_an_unknown_study_is_a_usage_error_with_the_known_ones(assay):
    refused = assay("study", "scalling")
    assert refused.returncode == 2 and "did you mean scaling?" in refused.stderr
