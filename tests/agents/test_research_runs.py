"""`assay run` with the research agent and its ablations."""

import json
from pathlib import Path

import pytest

from assay.records import RunFolder, read_events
from assay.records.events import CallFinished, OfferResult
from tiny_run import check_verified, prepare_tiny

TESTS = Path(__file__).parent.parent
BRAIN = TESTS / "agents" / "scripted_researcher.py"


@pytest.fixture
def tiny(assay, home):
    """Returns the command for the prepared tiny suite."""
    words = ("--tasks", TESTS / "tiny")
    prepare_tiny(home)
    return lambda *more: assay(*words, *more)


def run_words(out, agent="research"):
    return ["run", "tiny", "--agent", agent, "--model", f"scripted/{BRAIN}:answer", "--out", str(out), "--quiet"]


def only_trial(out):
    (trial,) = RunFolder(out).trials()
    return trial


@pytest.mark.parametrize("agent", ["research,protocol=tools", "react", "act"])
def test_assay_run_with_each_agent_solves_the_tiny_task(tiny, home, tmp_path, agent):
    done = tiny(*run_words(tmp_path / "run", agent))
    assert done.returncode == 0, done.stderr
    trial = only_trial(tmp_path / "run")
    assert trial.state.status == "done"
    assert trial.grade is not None and trial.grade.score == 1.0
    assert trial.grade.sealed is True
    assert trial.state.steps == 7
    check_verified(tmp_path / "run", home)


@pytest.mark.parametrize(("agent", "steps"), [("research,rules=published", 14), ("research", 10)])
def test_repetition_ends_a_run_under_the_default_rules_only(tiny, tmp_path, agent, steps):
    replies = tmp_path / "replies.json"
    listing = "Reflection: -\nResearch Plan and Status: -\nFact Check: -\nThought: -\nAction: List Files\n"
    replies.write_text(json.dumps([f'{listing}Action Input: {{"dir_path": "."}}'] * 15))
    words = ["run", "tiny", "--agent", agent, "--model", f"scripted/{replies}", "--steps", "14", "--seeds", "1"]
    done = tiny(*words, "--out", tmp_path / "run", "--quiet")
    assert done.returncode == 0, done.stderr
    assert only_trial(tmp_path / "run").state.steps == steps


def test_an_offered_submission_gets_a_score_on_hidden_rows(tiny, tmp_path):
    replies, thoughts = (
        tmp_path / "replies.json",
        "Reflection: -\nResearch Plan and Status: -\nFact Check: -\nThought: -\n",
    )
    actions = (
        ("Execute Script", {"script_name": "train.py"}),
        ("Offer Submission", {}),
        ("Final Answer", {"final_answer": "Done."}),
    )
    texts = [f"{thoughts}Action: {name}\nAction Input: {json.dumps(arguments)}" for name, arguments in actions]
    replies.write_text(json.dumps(texts))
    words = ["run", "tiny", "--agent", "research", "--model", f"scripted/{replies}", "--seeds", "1"]
    done = tiny(*words, "--selection", "hidden", "--feedback", "score", "--out", tmp_path / "run", "--quiet")
    assert done.returncode == 0, done.stderr
    events = read_events(only_trial(tmp_path / "run").events)
    (result,) = [e.result for e in events if isinstance(e, CallFinished) and isinstance(e.result, OfferResult)]
    assert result.score is not None and "Score" in result.reply


@pytest.mark.parametrize(("stop", "cause"), [("length", "infrastructure"), ("stop", "agent")])
def test_replies_without_content_are_the_agents_failure_only_if_they_are_complete(tiny, tmp_path, stop, cause):
    replies = tmp_path / "replies.json"
    empty = {"text": "", "reasoning": "Hm.", "stop": stop}
    replies.write_text(json.dumps([empty] * 9))
    words = ["run", "tiny", "--agent", "research", "--model", f"scripted/{replies}", "--seeds", "1", "--attempts", "1"]
    tiny(*words, "--out", tmp_path / "run", "--quiet")
    state = only_trial(tmp_path / "run").state
    assert (state.status, state.cause) == ("failed", cause)
    if stop == "length":
        assert "reached its output limit before it wrote anything, 3 times in a row" in state.reason


NOTHING_TO_SAY = """
def answer(messages, tools):
    if messages[-1].text == "Reply with the word OK.":
        return "OK"
    return {"text": "", "reasoning": "Hm.", "stop": "length"}
"""


def test_prompts_that_a_model_only_thinks_about_are_the_agents_failure(tiny, tmp_path):
    """Were it the infrastructure's, an agent could have a trial that goes badly repeated and left out."""
    (tmp_path / "thinks.py").write_text(NOTHING_TO_SAY)
    model = f"scripted/{tmp_path / 'thinks.py'}:answer"
    words = ["run", "tiny", "--agent", "research", "--model", model, "--seeds", "1", "--attempts", "1"]
    tiny(*words, "--out", tmp_path / "run", "--quiet")
    state = only_trial(tmp_path / "run").state
    assert (state.status, state.cause) == ("failed", "agent"), state
    assert "it answers a test prompt, but not this one" in state.reason
