"""Published agent packages in a sealed lab with a scripted model, up to the grade and a trajectory for Harbor."""

import json
import subprocess
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

from assay.core.errors import LabError
from assay.lab.environments import find_python
from assay.records import read_events
from assay.records.selection import find_pick
from assay.records.tape import finished_calls
from outside import newer_python, outside_python
from tiny_run import check_verified

VALIDATE = (
    "import sys; from harbor.utils.trajectory_validator import validate_trajectory as v; sys.exit(not v(sys.argv[1]))"
)
SCRIPTS = Path(__file__).parent / "external_agents"

pytestmark = pytest.mark.slow


def has_newer_python():
    try:
        return bool(find_python("3.12"))
    except LabError:
        return False


@pytest.fixture
def run_agent(tiny, tmp_path):
    """Runs a profile on the coin task, has Harbor check its trajectory, and returns the graded trial."""

    def run(profile, model_script, *words):
        model = f"scripted/{SCRIPTS / model_script}.py:answer"
        agent = f"external,profile={profile}"
        done = tiny.call(*tiny.run_words(agent, time="5m"), "--model", model, *words)
        assert done.returncode == 0, done.stderr
        (trial,) = tiny.folder.trials()
        check_verified(tiny.out, tiny.home)
        assert tiny.call("export", str(tiny.out), "--to", "atif", str(tmp_path / "atif")).returncode == 0
        python = outside_python("harbor>=0.24,<0.26", "every-eval-ever>=0.3,<0.4", python=newer_python())
        [file] = (tmp_path / "atif").rglob("trajectory.json")
        checked = subprocess.run([python, "-c", VALIDATE, file], capture_output=True, text=True)
        assert checked.returncode == 0, checked.stdout + checked.stderr
        return trial

    return run


def calls(trial, kind):
    return [call for _, call in finished_calls(read_events(trial.events)) if call.request.type == kind]


def notes(trial, topic):
    return [call.request.data for call in calls(trial, "note") if call.request.topic == topic]


@pytest.mark.parametrize(("layout", "selection"), [("workspace", "hidden"), ("mlebench", "own")])
def test_the_aide_package_searches_in_a_sealed_lab_and_submits_its_best_solution(run_agent, layout, selection):
    trial = run_agent("aide", "aide_model", "--steps", "8", "--layout", layout, "--selection", selection)
    (ended,) = calls(trial, "external_process")
    assert trial.state.status == "done", ended.result
    assert (trial.grade.sealed, trial.state.sealing.network) == (True, "models")
    # Its first solution guesses tails, which is right for two of three coins, and its last one guesses heads.
    assert trial.grade.score == 1.0, ended.result
    assert trial.state.steps == 8 and trial.state.tokens > 0
    assert (trial.path / "trajectory/logs/0-trial/journal.json").is_file()
    versions = notes(trial, "submission")
    assert len(versions) >= 2 and all(version["fault"] is None for version in versions)
    if selection == "hidden":
        # The solution that guesses tails is a candidate too, and right for fewer hidden coins.
        scores = [entry.score for entry in find_pick(read_events(trial.events)).scores]
        assert len(scores) >= 2 and max(scores) == 1.0 > min(scores)


def test_the_mini_swe_agent_package_works_in_a_sealed_lab(run_agent):
    trial = run_agent("mini-swe-agent", "mini_swe_agent_model", "--steps", "10", "--selection", "hidden")
    (ended,) = calls(trial, "external_process")
    assert trial.state.status == "done", ended.result
    assert (trial.grade.score, trial.grade.sealed) == (1.0, True)
    assert trial.state.steps == 4
    assert len(calls(trial, "validation")) == 1
    picked = find_pick(read_events(trial.events))
    assert picked.pick == picked.hidden and 1.0 in [entry.score for entry in picked.scores]
    assert (trial.path / "trajectory/trajectory.json").is_file()


def test_the_smolagents_package_works_in_a_sealed_lab(run_agent):
    trial = run_agent("smolagents", "smolagents_model", "--steps", "5")
    (ended,) = calls(trial, "external_process")
    assert trial.state.status == "done", ended.result
    assert (trial.grade.score, trial.grade.sealed, trial.state.steps) == (1.0, True, 1), ended.result
    assert (trial.path / "trajectory/smolagents.json").is_file()


def test_the_aider_package_repairs_its_program_in_a_sealed_lab(run_agent):
    trial = run_agent("aider", "aider_model", "--steps", "6")
    (ended,) = calls(trial, "external_process")
    assert trial.state.status == "done", ended.result
    assert (trial.grade.score, trial.grade.sealed, trial.state.steps) == (1.0, True, 2), ended.result
    assert (trial.path / "trajectory/.aider.chat.history.md").is_file()


@pytest.mark.parametrize(
    ("profile", "wire"),
    [
        ("codex", "openai responses"),
        ("claude-code", "anthropic messages"),
        ("gemini-cli", "gemini"),
        ("goose", "openai chat"),
        ("opencode", "openai chat"),
        pytest.param(
            "openhands", "openai chat", marks=pytest.mark.skipif(not has_newer_python(), reason="no Python 3.12")
        ),
        ("qwen-code", "openai chat"),
    ],
)
def test_an_agent_with_tools_works_in_a_sealed_lab_through_its_own_protocol(run_agent, profile, wire):
    trial = run_agent(profile, "one_command_model")
    (ended,) = calls(trial, "external_process")
    assert trial.state.status == "done", ended.result
    assert (trial.grade.score, trial.grade.sealed) == (1.0, True)
    clients = notes(trial, "client")
    assert {client["protocol"] for client in clients} == {wire}
    assert any((trial.path / "trajectory").rglob("*.json*"))


def test_an_agent_that_speaks_the_agent_client_protocol_works_in_a_sealed_lab(run_agent, tmp_path):
    profile = tomllib.loads(files("assay.agents.external").joinpath("profiles/opencode.toml").read_text())
    program = "{agent}/node_modules/opencode-linux-x64/bin/opencode"
    config = json.loads(profile["files"]["opencode.json"]) | {"model": "lab/{model}"}
    lines = [
        'protocol = "acp"',
        'environment = "opencode"',
        f"command = {json.dumps([program, 'acp'])}",
        f"files = {{'opencode.json' = {json.dumps(json.dumps(config))}}}",
        "[variables]",
        *(f"{name} = {json.dumps(value)}" for name, value in profile["variables"].items()),
    ]
    (tmp_path / "acp.toml").write_text("\n".join(lines))
    trial = run_agent(tmp_path / "acp.toml", "one_command_model")
    (ended,) = calls(trial, "external_process")
    assert trial.state.status == "done", ended.result
    assert (trial.grade.score, trial.grade.sealed) == (1.0, True), ended.result
    session = (trial.path / "trajectory/acp.jsonl").read_text()
    assert '"session/update"' in session and '"stopReason":"end_turn"' in session
