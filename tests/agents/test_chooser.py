"""The chooser: every decision is one of the options, by a model or at random, up to a graded submission."""

import json

import pytest

from assay.agents.chooser import Chooser
from assay.records import RunFolder
from assay.records.events import GAVE_UP
from assay.tasks import Budget


def pick(choice):
    """Return a reply that chooses an option."""
    return {"tool_calls": [{"name": "choose", "arguments": {"choice": choice}}]}


STORY = ["kneighbor", "n_neighbors", "50", "revert", "weights", "distance", "keep"]


def choices(trial):
    return [note["about"]["choice"] for note in trial.calls("note") if note["topic"] == "choice"]


@pytest.mark.slow
@pytest.mark.anyio
async def test_a_change_is_kept_or_reverted_and_an_interrupted_trial_repeats_nothing(digits_trial, script):
    model, agent = {"main": script(*map(pick, STORY))}, Chooser(rounds=2)
    digits_trial.budget = Budget(time=600, steps=3)
    await digits_trial.work(agent, model)
    assert choices(digits_trial) == STORY[:6], "the next evaluation would be step 4"
    digits_trial.budget = Budget(time=600, steps=50)
    files = await digits_trial.work(agent, model)
    assert choices(digits_trial) == STORY
    assert len(digits_trial.calls("model")) == len(STORY)
    done = [(action["name"], action["arguments"]) for action in digits_trial.calls("action") if not action["cause"]]
    nearest = {"pipeline": "kneighbor", "n_neighbors": "5", "weights": "uniform"}
    assert done == [
        ("evaluate", nearest),
        ("keep", {}),
        ("evaluate", nearest | {"n_neighbors": "50"}),
        ("evaluate", nearest | {"weights": "distance"}),
        ("keep", {}),
    ]
    rows = files["submission.csv"].decode().splitlines()
    assert rows[0] == "image,label" and len(rows) == 1598 and len({row.rpartition(",")[2] for row in rows[1:]}) == 10
    prompt = digits_trial.calls("model")[-1]["about"]["messages"][-1]["text"]
    assert "n_neighbors=50" in prompt and prompt.count("validation loss 0.") == 3


@pytest.mark.anyio
async def test_replies_that_choose_nothing_are_asked_for_again_and_end_the_trial_when_repeated(trial, script):
    unreadable = [{"text": "kneighbor"}, pick("svm"), {"tool_calls": [{"name": "choose", "arguments": "kneighbor"}]}]
    agent = Chooser(rounds=1)
    # The coin task has no column to learn from: the evaluation fails, and a constant is submitted.
    model = {"main": script(*unreadable[:2], pick("lgbm"), *unreadable)}
    files = await trial.work(agent, model)
    assert trial.actions() == [("evaluate", "crash")]
    assert files["submission.csv"].startswith(b"coin,side\n30,0\n")
    assert [note["cause"] for note in trial.calls("note")] == ["format"] * 2 + [None] + ["format"] * 4
    assert trial.calls("note")[-1]["topic"] == GAVE_UP


@pytest.mark.slow
def test_the_local_model_and_random_draws_lead_to_graded_submissions(assay, pocket_home, tmp_path):
    """The model decides on a pipeline, a change, and whether to keep it; the draws only on a pipeline."""
    out, random = tmp_path / "run", "chooser,choices=random,rounds=0"
    agents = ["--agent", "chooser,rounds=1,description_length=20", "--agent", random, "--model", "local/smollm2"]
    done = assay("run", "pocket/digits", *agents, "--out", out, "--quiet", home=pocket_home)
    assert done.returncode == 0, done.stderr
    chosen, drawn = RunFolder(out).trials()
    for trial in (chosen, drawn):
        assert trial.state.status == "done" and trial.grade.valid_submission and trial.grade.sealed
        assert trial.grade.score > 0.5, "every pipeline is better than guessing one of ten digits"
    assert chosen.file.models == {"main": "local/smollm2"} and not drawn.file.models
    assert chosen.state.tokens > 500 and (chosen.state.cost, drawn.state.tokens) == (0.0, 0)
    assert assay("verify", out, home=pocket_home).returncode == 0
    report = json.loads(assay("report", out, "--json", home=pocket_home).stdout)
    assert "chooser" in json.dumps(report)
