"""The task prompt: the same for all agents, complete, and without anything about the answers or the host."""

import hashlib
import json
import platform
import socket
from pathlib import Path

import pytest

from assay.agents.briefing import briefing, remaining_budget, task_prompt
from assay.agents.mlagentbench import Research
from assay.records import TrialFile, read_events
from assay.runs.descriptions import choose_description, description_of, hash_description
from assay.tasks import Budget, Registry

pytestmark = pytest.mark.anyio

TESTS = Path(__file__).parent.parent
LEAF = "mlebench/leaf-classification"


async def test_the_prompt_states_the_whole_task(trial):
    trial.budget = Budget(time=5400, steps=30, tokens=200_000, cost=2.5)
    async with trial.bench() as bench:
        prompt = " ".join(briefing(bench, check="Ask for a check.").split())
    for part in (
        "Guess which side of each coin is up.",
        "`data/` contains the data, which is read-only. The starter code is in `train.py`",
        "Submit the CSV file `submission.csv` in the top folder of the workspace",
        "with the columns `coin`, `side`, of at most 100MB.",
        "Ask for a check.",
        "Your submission is evaluated by accuracy; higher is better.",
        "1h30m of time, 30 steps, 200,000 tokens and 2.5 dollars for models.",
        "one core, 4GB of memory and 2GB of disk space",
        "must come from a model that was trained or fitted in this workspace",
        "Do not label test examples by hand",
        "Do not use other people's solutions",
    ):
        assert part in prompt


async def test_the_prompt_is_constant_and_the_remaining_budget_is_stated_separately(trial):
    trial.budget = Budget(time=600, steps=3, tokens=100, cost=1)
    async with trial.bench() as bench:
        before = briefing(bench)
        await bench.run(["true"])
        assert briefing(bench) == before
        left = remaining_budget(bench)
    assert left.startswith("You have 2 steps, ") and left.endswith(", 100 tokens and 1 dollars left.")


async def test_the_prompt_names_neither_answers_nor_host_nor_task(trial):
    async with trial.bench() as bench:
        prompt = briefing(bench)
    for secret in ("answers.csv", "private", str(Path.home()), str(trial.home.root), socket.gethostname(), "tiny/coin"):
        assert secret not in prompt
    assert platform.release() not in prompt


def test_tasks_graded_by_running_code_have_their_own_rules():
    task = Registry().task("pocket/vectorization")
    prompt = " ".join(task_prompt(task, task.description, task.budget).split())
    assert "must do all of its work when it is called" in prompt and "label test examples" not in prompt
    assert "Submit the file `convolve.py` in the top folder of the workspace" in prompt


def test_every_task_has_a_complete_prompt():
    for task in Registry().select_all(["mlebench", "mlagentbench", "pocket"]):
        prompt = task_prompt(task, task.description, task.budget)
        description = task.description.strip()
        assert description in prompt and "$" not in prompt.replace(description, ""), task.id


async def test_the_research_agent_gets_the_same_prompt(trial, script):
    async with trial.bench({"main": script("x")}) as bench:
        text = briefing(bench, check='"Validate Submission" checks whether its format is valid, without a score.')
        await Research(max_attempts=1).work(bench)
    assert text in trial.calls("model")[0]["about"]["messages"][0]["text"]


async def test_the_research_agent_can_validate_its_submission(trial, script):
    answer = (
        "Reflection: -\nResearch Plan and Status: -\nFact Check: -\nThought: -\n"
        "Action: Validate Submission\nAction Input: {}"
    )
    await trial.work(Research(max_attempts=1), {"main": script(answer, "nothing")})
    assert trial.actions() == [("Validate Submission", None)]
    assert "'submission.csv' does not exist" in trial.calls("action")[0]["observation"]
    assert len(trial.calls("validation")) == 1


def test_an_obfuscated_description_replaces_the_plain_one():
    leaf = Registry().task(LEAF)
    plain, other = (choose_description(leaf, how, None) for how in ("plain", "obfuscated"))
    assert hash_description(leaf, *plain) == hashlib.sha256(leaf.description.encode()).hexdigest()
    assert hash_description(leaf, *other) == hashlib.sha256(leaf.obfuscated.encode()).hexdigest()
    assert description_of(trial_file(LEAF, *other), leaf) == leaf.obfuscated
    assert trial_file(LEAF, *other).trial_id != trial_file(LEAF, *plain).trial_id


@pytest.mark.parametrize("path", ["tiny/coin.md", "coin.md", "coin/description.md"])
def test_a_custom_description_is_found_and_recorded(coin, tmp_path, path):
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_text("Heads or tails?")
    chosen = choose_description(coin, "plain", tmp_path)
    assert chosen == ("own", "Heads or tails?")
    file = trial_file("tiny/coin", *chosen)
    assert description_of(file, coin) == "Heads or tails?"
    assert file.trial_id != trial_file("tiny/coin", "own", "Tails or heads?").trial_id


def test_a_custom_obfuscated_description_is_another_trial(coin, tmp_path):
    (tmp_path / "coin").mkdir()
    for name, text in (("description.md", "Heads or tails?"), ("description_obfuscated.md", "Zero or one?")):
        (tmp_path / "coin" / name).write_text(text)
    plain, obfuscated = (choose_description(coin, how, tmp_path) for how in ("plain", "obfuscated"))
    assert (plain, obfuscated) == (("own", "Heads or tails?"), ("obfuscated", "Zero or one?"))
    files = [trial_file("tiny/coin", *chosen) for chosen in (plain, obfuscated)]
    assert description_of(files[1], coin) == "Zero or one?" and files[0].trial_id != files[1].trial_id
    assert hash_description(coin, *obfuscated) == hashlib.sha256(b"Zero or one?").hexdigest()


def test_missing_descriptions_are_reported(tiny, tmp_path):
    run = tiny.run_words("starter")
    lacking = tiny.call(*run, "--describe", "obfuscated")
    assert lacking.returncode == 2 and "tiny/coin has no obfuscated description" in lacking.stderr
    empty = tiny.call(*run, "--descriptions", TESTS / "tiny" / "coin" / "starter")
    assert empty.returncode == 2 and "has no description of tiny/coin; expected one of:" in empty.stderr
    both = tiny.call(*run, "--describe", "obfuscated", "--descriptions", tmp_path)
    assert both.returncode == 2 and "expected one of: coin/description_obfuscated.md" in both.stderr


def test_the_chosen_description_is_in_the_workspace_and_its_hash_in_the_record(tiny, tmp_path):
    (tmp_path / "coin.md").write_text("Heads or tails?")
    done = tiny.call(*tiny.run_words("starter"), "--descriptions", tmp_path)
    assert done.returncode == 0, done.stderr
    (trial,) = tiny.folder.trials()
    digest = hashlib.sha256(b"Heads or tails?").hexdigest()
    assert trial.file.hashes["description"] == digest
    snapshot = next(event.snapshot for event in read_events(trial.events) if event.kind == "snapshot_taken")
    kept = json.loads((trial.snapshots / "manifests" / f"{snapshot}.json").read_text())
    assert kept["files"]["description.md"]["sha256"] == digest


def trial_file(task, describe, description):
    """Return a trial file with the given description."""
    asked = {
        "task": task, "edition": "v1", "variant": "real", "agent": "starter", "settings": {}, "models": {}, "seed": 1,
        "budget": {"time": 60, "steps": 1}, "resources": {}, "environment": "core", "sandbox": "none",
        "describe": describe, "description": description,
    }  # fmt: skip
    return TrialFile.model_validate({**asked, "id": "a-trial", "label": "starter"})
