"""Published agent packages in a sealed lab with a scripted model, up to the grade."""

from pathlib import Path

import pytest

from assay.records import read_events
from assay.records.tape import finished_calls
from tiny_run import check_verified

SCRIPTS = Path(__file__).parent / "external_agents"

pytestmark = pytest.mark.slow


@pytest.fixture
def run_agent(tiny):
    """Runs a profile on the coin task and returns the graded trial."""

    def run(profile, model_script, *words):
        model = f"scripted/{SCRIPTS / model_script}.py:answer"
        agent = f"external,profile={profile}"
        done = tiny.call(*tiny.run_words(agent, time="5m"), "--model", model, *words)
        assert done.returncode == 0, done.stderr
        (trial,) = tiny.folder.trials()
        check_verified(tiny.out, tiny.home)
        return trial

    return run


def calls(trial, kind):
    return [call for _, call in finished_calls(read_events(trial.events)) if call.request.type == kind]


def notes(trial, topic):
    return [call.request.data for call in calls(trial, "note") if call.request.topic == topic]


def test_the_aide_package_searches_in_a_sealed_lab_and_submits_its_best_solution(run_agent):
    trial = run_agent("aide", "aide_model", "--steps", "8")
    (ended,) = calls(trial, "external_process")
    assert trial.state.status == "done", ended.result
    assert (trial.grade.sealed, trial.state.sealing.network) == (True, "models")
    # Its first solution guesses tails, which is right for two of three coins, and its last one guesses heads.
    assert trial.grade.score == 1.0, ended.result
    assert trial.state.steps == 8 and trial.state.tokens > 0
    assert (trial.path / "trajectory/logs/0-trial/journal.json").is_file()
    versions = notes(trial, "submission")
    assert len(versions) >= 2 and all(version["fault"] is None for version in versions)


def test_the_mini_swe_agent_package_works_in_a_sealed_lab(run_agent):
    trial = run_agent("mini-swe-agent", "mini_swe_agent_model", "--steps", "10")
    (ended,) = calls(trial, "external_process")
    assert trial.state.status == "done", ended.result
    assert (trial.grade.score, trial.grade.sealed) == (1.0, True)
    assert trial.state.steps == 4
    assert len(calls(trial, "validation")) == 1
    assert (trial.path / "trajectory/trajectory.json").is_file()


@pytest.mark.parametrize(
    ("profile", "wire"),
    [("codex", "openai responses"), ("claude-code", "anthropic messages"), ("gemini-cli", "gemini")],
)
def test_an_npm_agent_works_in_a_sealed_lab_through_its_own_protocol(run_agent, profile, wire):
    trial = run_agent(profile, "one_command_model")
    (ended,) = calls(trial, "external_process")
    assert trial.state.status == "done", ended.result
    assert (trial.grade.score, trial.grade.sealed) == (1.0, True)
    clients = notes(trial, "client")
    assert {client["protocol"] for client in clients} == {wire}
    assert any((trial.path / "trajectory").rglob("*.json*"))
