"""Each role has its own model and settings; other roles use the main ones."""

import pytest
from protocols import Say
from routes import PRICES, RESPONSES
from server import ModelServer

from assay.models import Message, Models, ModelSettings, Usage, settings_by_role
from assay.models.dropped import find_dropped

pytestmark = pytest.mark.anyio

ASK = [Message(role="user", text="What is in here?")]


async def test_a_role_without_a_model_uses_the_main_model(script):
    roles = {
        "main": script("I am main.", "Main again.", name="main.json"),
        "fast": script("I am fast.", name="fast.json"),
    }
    models = Models(roles, prices=PRICES)
    replies = [(await models.ask(role, ASK)).message.text for role in ("fast", "main", "review")]
    assert replies == ["I am fast.", "I am main.", "Main again."]


async def test_a_role_without_settings_uses_the_main_settings():
    with ModelServer(*[Say("Yes.")] * 3) as server:
        settings = {
            "main": ModelSettings(base_url=server.openai, temperature=0.1),
            "edit": ModelSettings(base_url=server.openai, temperature=0.9),
        }
        async with Models({"main": "openai/gpt-4o", "fast": "openai/gpt-4o-mini"}, settings, prices=PRICES) as models:
            for role in ("main", "edit", "fast"):
                await models.ask(role, ASK)
    sent = [(request.body["model"], request.body["temperature"]) for request in server.requests]
    assert sent == [("gpt-4o", 0.1), ("gpt-4o", 0.9), ("gpt-4o-mini", 0.1)]


async def test_inspect_may_ask_openai_once_whether_it_shows_summaries():
    """A request of Inspect's own, which is not in the usage; the docstring of the settings says so."""
    with ModelServer(*[Say("Yes.")] * 3) as server:
        async with RESPONSES.models(server, reasoning_summary=None) as models:
            usage = [(await models.ask("main", ASK)).usage for _ in range(2)]
    assert sum(usage, Usage.zero()).total_tokens == 30
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("name", "settings", "limit"),
    [
        ("openai/gpt-5", {}, ("max_output_tokens", 34_000)),
        ("openai/gpt-5", {"reasoning_room": 5_000}, ("max_output_tokens", 7_000)),
        ("openai/o1-preview", {}, ("max_output_tokens", 32_768)),
        ("openai/gpt-4o", {}, ("max_tokens", 2_000)),
        ("anthropic/claude-sonnet-4-5", {}, ("max_tokens", 2_000)),
    ],
)
async def test_reasoning_does_not_use_up_the_tokens_of_the_reply(name, settings, limit):
    """The most that o1-preview can write, reasoning included, is 32,768 tokens."""
    with ModelServer(Say("Yes.")) as server:
        base_url = server.anthropic if name.startswith("anthropic/") else server.openai
        limits = {"max_tokens": 2000, "reasoning_summary": "none", "base_url": base_url, **settings}
        async with Models({"main": name}, ModelSettings(**limits), prices=PRICES) as models:
            await models.ask("main", ASK)
    assert server.requests[-1].body[limit[0]] == limit[1]


@pytest.mark.parametrize(
    ("name", "dropped"),
    [
        ("openai/gpt-5", {"main": ["temperature", "stop"], "fast": ["temperature"]}),
        ("openai/gpt-4o", {}),
        ("anthropic/claude-sonnet-4-5", {"main": ["temperature"], "fast": ["temperature"]}),
        ("scripted/replies.json", {}),
    ],
)
def test_settings_that_a_client_does_not_send_are_known_before_any_request(name, dropped):
    settings = settings_by_role({"temperature": 0.5, "main": {"stop": ["Observation:"]}, "fast": {"max_tokens": 2000}})
    assert find_dropped({"main": name}, settings) == dropped
