"""Published agent packages in a sealed lab with a scripted model, up to the grade."""

from pathlib import Path

import pytest

from assay.records import RunFolder, read_events
from assay.records.tape import finished_calls
from tiny_run import prepare_tiny

SCRIPTS = Path(__file__).parent / "external_agents"
TINY = Path(__file__).parent.parent / "tiny"

pytestmark = pytest.mark.slow


@pytest.fixture
def run_agent(assay_prepared, tmp_path):
    """Runs a profile on a pocket task and returns the graded trial."""

    def run(profile, model_script, *words):
        model = f"scripted/{SCRIPTS / model_script}.py:answer"
        options = [
            "--agent",
            f"external,profile={profile}",
            "--model",
            model,
            "--out",
            tmp_path / "run",
            "--quiet",
            *words,
        ]
        done = assay_prepared("run", "pocket/spaceship-titanic", *options)
        assert done.returncode == 0, done.stderr
        (trial,) = RunFolder(tmp_path / "run").trials()
        return trial

    return run


def calls(trial, kind):
    return [call for _, call in finished_calls(read_events(trial.events)) if call.request.type == kind]


def notes(trial, topic):
    return [call.request.data for call in calls(trial, "note") if call.request.topic == topic]


def test_the_aide_package_searches_in_a_sealed_lab_and_submits_its_best_solution(run_agent):
    trial = run_agent("aide", "aide_model", "--steps", "12", "--time", "5m")
    (ended,) = calls(trial, "external_process")
    assert trial.state.status == "done", ended.result
    assert (trial.grade.sealed, trial.state.sealing.network) == (True, "models")
    # A forest on the numbers alone; guessing gives 0.5, and its last solution guesses.
    assert trial.grade.score > 0.65, ended.result
    assert trial.state.steps == 12 and trial.state.tokens > 0
    assert (trial.path / "trajectory/logs/0-trial/journal.json").is_file()
    versions = notes(trial, "submission")
    assert len(versions) >= 2 and all(version["fault"] is None for version in versions)


def test_the_mini_swe_agent_package_works_in_a_sealed_lab(run_agent):
    trial = run_agent("mini-swe-agent", "mini_swe_agent_model", "--steps", "10", "--time", "5m")
    (ended,) = calls(trial, "external_process")
    assert trial.state.status == "done", ended.result
    assert trial.grade.score > 0.65 and trial.grade.sealed is True
    assert trial.state.steps == 4
    assert len(calls(trial, "validation")) == 1
    assert (trial.path / "trajectory/trajectory.json").is_file()


@pytest.mark.parametrize(
    ("profile", "wire"),
    [("codex", "openai responses"), ("claude-code", "anthropic messages"), ("gemini-cli", "gemini")],
)
def test_an_npm_agent_works_in_a_sealed_lab_through_its_own_protocol(assay, home, tmp_path, profile, wire):
    words = ("--tasks", TINY)
    prepare_tiny(home)
    options = ["--agent", f"external,profile={profile}", "--model", f"scripted/{SCRIPTS}/one_command_model.py:answer"]
    done = assay(*words, "run", "tiny", *options, "--time", "5m", "--out", tmp_path / "run", "--quiet")
    assert done.returncode == 0, done.stderr
    (trial,) = RunFolder(tmp_path / "run").trials()
    (ended,) = calls(trial, "external_process")
    assert trial.state.status == "done", ended.result
    assert (trial.grade.score, trial.grade.sealed) == (1.0, True)
    clients = notes(trial, "client")
    assert {client["protocol"] for client in clients} == {wire}
    assert any((trial.path / "trajectory").rglob("*.json*"))
