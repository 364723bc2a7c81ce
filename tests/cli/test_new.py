"""`assay new`: what it writes runs as it is."""

from pathlib import Path

import pytest

from assay.records import RunFolder


@pytest.mark.slow
def test_new_agents_work_as_they_are(assay_prepared_here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = assay_prepared_here("new", "agent", "my_agent")
    assert "assay run pocket/digits --agent my_agent.py:MyAgent --seeds 1" in done.stdout, done.stderr
    assert assay_prepared_here("new", "agent", "mine", "--profile").returncode == 0
    agents = ("--agent", "my_agent.py:MyAgent", "--agent", "external,profile=mine.toml")
    run = assay_prepared_here("run", "pocket/digits", *agents, "--seeds", "1", "--out", "run", "--quiet")
    assert run.returncode == 0, run.stderr
    trials = list(RunFolder(tmp_path / "run").trials())
    assert [trial.file.label for trial in trials] == ["MyAgent", "external mine"]
    assert [trial.grade.valid_submission for trial in trials if trial.grade] == [True, True]


def test_nothing_is_overwritten_and_names_must_be_plain(
    assay_here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("mine")
    for name, message in (("mine", "mine.py exists already"), ("../mine", "cannot be the name"), ("My", "my_agent")):
        result = assay_here("new", "agent", name)
        assert (result.returncode, message in result.stderr) == (2, True), result.stderr
    assert (tmp_path / "mine.py").read_text() == "mine"
