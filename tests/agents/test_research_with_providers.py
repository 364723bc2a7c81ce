"""The research agent with the real clients of OpenAI and Anthropic and a local server."""

import pytest
from protocols import Call, Say, Thought
from routes import CHAT, RESPONSES, STREAMED
from server import KEY, ModelServer
from test_research import EDIT, HEADS, say

from assay.agents.mlagentbench import Research

pytestmark = pytest.mark.anyio

THOUGHTS = {"reflection": "Fine.", "research_plan_and_status": "1. Go.", "fact_check": "Guessed.", "thought": "Go."}
EDITED = Say(f"````python\n{HEADS}````")


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    """Sets API keys, and removes all other settings of this machine that providers read."""
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, KEY)
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "ANTHROPIC_AUTH_TOKEN", "INSPECT_EVAL_MODEL_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("route", [CHAT, RESPONSES, STREAMED], ids=lambda route: route.label)
async def test_a_trial_as_text(trial, route):
    replies = [
        Say(say("List Files", dir_path=".")),
        Say("Hm."),
        Say(say("Edit Script (AI)", **EDIT)),
        EDITED,
        Say(say("Execute Script", script_name="train.py")),
        Say(say("Final Answer", final_answer="Solved.")),
    ]
    with ModelServer(*replies) as server:
        files = await trial.work(Research(), models=route.models(server))
    assert files["submission.csv"].startswith(b"coin,side\n30,1\n31,0\n")
    assert len(server.requests) == 6
    assert "could not be used" in str(server.requests[2].body)
    assert "accuracy 1.0" in str(server.requests[5].body)
    # the test server counts 15 tokens for each reply
    assert trial.calls("action")[-1]["used"]["tokens"] == 6 * 15


@pytest.mark.parametrize("route", [CHAT, RESPONSES, STREAMED], ids=lambda route: route.label)
async def test_a_trial_with_tool_calls(trial, route):
    replies = [
        Say(Thought("Let me see."), "I look.", Call("list_files", {**THOUGHTS, "dir_path": "."})),
        Say("I rather talk."),
        Say(Call("edit_script_ai", {**THOUGHTS, **EDIT})),
        EDITED,
        Say(Call("execute_script", {**THOUGHTS, "script_name": "train.py"})),
        Say(Call("final_answer", {**THOUGHTS, "final_answer": "Solved."})),
    ]
    with ModelServer(*replies) as server:
        files = await trial.work(Research(protocol="tools"), models=route.models(server))
    assert files["submission.csv"].startswith(b"coin,side\n30,1\n31,0\n")
    assert trial.actions() == [
        ("List Files", None), ("Edit Script (AI)", None), ("Execute Script", None), ("Final Answer", None),
    ]  # fmt: skip
    names = {(tool.get("function") or tool)["name"] for tool in server.requests[0].body["tools"]}
    assert {"list_files", "edit_script_ai", "undo_edit_script", "final_answer"} < names
    assert "python_repl" not in names
    # the editor is offered no tools
    assert not server.requests[3].body.get("tools")
