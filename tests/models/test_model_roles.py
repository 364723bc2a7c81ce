"""Models are asked in roles, and a cache answers what was answered before."""

import pytest
from protocols import Say
from server import ModelServer
from ways import CHAT, PRICES, RESPONSES

from assay.core.errors import ModelError
from assay.models import Message, Models, ModelSettings, Usage

pytestmark = pytest.mark.anyio

ASK = [Message(role="user", text="What is in here?")]


async def test_each_role_has_its_model_and_others_have_the_main_one(script):
    roles = {
        "main": script("I am main.", "Main again.", name="main.json"),
        "fast": script("I am fast.", name="fast.json"),
    }
    models = Models(roles, prices=PRICES)
    said = [(await models.ask(role, ASK)).message.text for role in ("fast", "main", "review")]
    assert said == ["I am fast.", "I am main.", "Main again."]


async def test_each_role_has_its_settings_and_others_have_the_main_ones():
    with ModelServer(*[Say("Yes.")] * 3) as server:
        settings = {
            "main": ModelSettings(base_url=server.openai, temperature=0.1),
            "edit": ModelSettings(base_url=server.openai, temperature=0.9),
        }
        async with Models({"main": "openai/gpt-4o", "fast": "openai/gpt-4o-mini"}, settings, prices=PRICES) as models:
            for role in ("main", "edit", "fast"):
                await models.ask(role, ASK)
    asked = [(request.body["model"], request.body["temperature"]) for request in server.requests]
    assert asked == [("gpt-4o", 0.1), ("gpt-4o", 0.9), ("gpt-4o-mini", 0.1)]


async def test_openai_may_be_asked_once_whether_it_shows_summaries():
    """Inspect's own doing, which costs a few tokens that nobody counts; the settings' documentation says so."""
    with ModelServer(*[Say("Yes.")] * 3) as server:
        async with RESPONSES.models(server, reasoning_summary=None) as models:
            usage = [(await models.ask("main", ASK)).usage for _ in range(2)]
    assert sum(usage, Usage.nothing()).total_tokens == 30
    assert len(server.requests) == 3


async def test_a_reply_is_paid_for_once(tmp_path, script):
    name = script({"text": "Two files.", "usage": {"input_tokens": 100, "output_tokens": 10}})
    first = await Models({"main": name}, prices=PRICES, cache=tmp_path / "cache").ask("main", ASK)
    script()
    second = await Models({"main": name}, prices=PRICES, cache=tmp_path / "cache").ask("main", ASK)
    assert (first.cached, second.cached) == (False, True)
    assert second.message == first.message
    assert (second.usage.input_tokens, second.usage.cost) == (100, 0.0)


async def test_any_difference_makes_it_another_question(tmp_path, script):
    name = script(*["Yes."] * 9)
    tried: list[bool] = []

    async def ask(text: str = "?", *, epoch: int = 0, again: int = 1, **settings) -> None:
        models = Models({"main": name}, ModelSettings(**settings), prices=PRICES, cache=tmp_path / "cache", epoch=epoch)
        for _ in range(again):
            reply = await models.ask("main", [Message(role="user", text=text)])
        tried.append(reply.cached)

    await ask()
    await ask("!")
    await ask(epoch=1)
    await ask(temperature=0.5)
    await ask(again=2)
    assert tried == [False] * 5
    await ask(max_retries=3, timeout=7)
    await ask(again=2)
    assert tried[5:] == [True, True]


async def test_damaged_cache_files_are_asked_anew(tmp_path, script):
    name = script("Two files.")
    await Models({"main": name}, prices=PRICES, cache=tmp_path / "cache").ask("main", ASK)
    (kept,) = (tmp_path / "cache").rglob("*.json")
    for damage in (b"", b"\xff", b"[]", b'{"format": "reply/9"}', kept.read_bytes().replace(b"assistant", b"nobody")):
        kept.write_bytes(damage)
        reply = await Models({"main": name}, prices=PRICES, cache=tmp_path / "cache").ask("main", ASK)
        assert not reply.cached


async def test_faults_are_not_cached(tmp_path):
    with ModelServer() as server:
        for _ in range(2):
            async with Models(
                {"main": CHAT.name}, ModelSettings(base_url=server.openai), prices=PRICES, cache=tmp_path
            ) as models:
                with pytest.raises(ModelError, match="nothing more to say"):
                    await models.ask("main", ASK)
    assert len(server.requests) == 2
    assert list(tmp_path.iterdir()) == []
