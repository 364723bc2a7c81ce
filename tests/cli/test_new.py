"""`assay new`: what it writes runs as it is."""

from pathlib import Path

import pytest

from assay.records import RunFolder


@pytest.mark.slow
def test_new_agents_work_as_they_are(assay, pocket_home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = assay("new", "agent", "my_agent", home=pocket_home)
    assert "assay run pocket/digits --agent my_agent.py:MyAgent --seeds 1" in done.stdout, done.stderr
    assert assay("new", "agent", "mine", "--profile", home=pocket_home).returncode == 0
    agents = ("--agent", "my_agent.py:MyAgent", "--agent", "external,profile=mine.toml")
    run = assay("run", "pocket/digits", *agents, "--seeds", "1", "--out", "run", "--quiet", home=pocket_home)
    assert run.returncode == 0, run.stderr
    trials = list(RunFolder(tmp_path / "run").trials())
    assert [trial.file.label for trial in trials] == ["MyAgent", "external mine"]
    assert [trial.grade.valid_submission for trial in trials if trial.grade] == [True, True]


def test_nothing_is_overwritten_and_names_must_be_plain(assay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("mine")
    for name, message in (("mine", "mine.py exists already"), ("../mine", "cannot be the name"), ("My", "my_agent")):
        result = assay("new", "agent", name)
        assert (result.returncode, message in result.stderr) == (2, True), result.stderr
    assert (tmp_path / "mine.py").read_text() == "mine"
