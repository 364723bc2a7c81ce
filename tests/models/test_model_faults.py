"""What goes wrong at a provider is tried again for as long as it may pass, and then told for what it is."""

import subprocess
import sys

import pytest
from protocols import Say
from server import TOO_LONG, Fail, Garbage, ModelServer, Reset, Silence
from ways import CHAT, COMPATIBLE, PRICES, RESPONSES, STREAMED

from assay.core.errors import ModelError, PromptTooLong, UsageError
from assay.models import Message, Models, ModelSettings

pytestmark = pytest.mark.anyio

ASK = [Message(role="user", text="What is in here?")]
PAUSE = 0.2
SOON = {"retry-after-ms": str(int(PAUSE * 1000))}


async def test_a_rate_limit_is_waited_for_and_the_time_is_not_working_time(way):
    with ModelServer(Fail(429, headers=SOON), Fail(429, headers=SOON), Say("Two files.")) as server:
        async with way.models(server) as models:
            reply = await models.ask("main", ASK)
    assert reply.message.text == "Two files."
    assert len(server.requests) == 3
    # two pauses as long as the server asked for; only a clock that runs backwards could make them shorter
    assert 2 * PAUSE <= reply.waited < reply.seconds


@pytest.mark.parametrize(
    "trouble", [Fail(500, headers=SOON), Fail(503, headers=SOON), Fail(529, headers=SOON), Reset()], ids=repr
)
async def test_an_outage_is_tried_again(way, trouble):
    with ModelServer(trouble, Say("Two files.")) as server:
        async with way.models(server) as models:
            assert (await models.ask("main", ASK)).message.text == "Two files."
    assert len(server.requests) == 2


async def test_inspect_goes_on_trying_where_the_client_gives_up():
    limited = [Fail(429, headers=SOON)] * 3
    with ModelServer(*limited, Say("Two files.")) as server:
        async with CHAT.models(server, max_retries=1) as models:
            assert (await models.ask("main", ASK)).message.text == "Two files."
    assert len(server.requests) == 4


async def test_a_limit_that_does_not_pass_is_a_fault_of_the_model(way):
    with ModelServer(*[Fail(429, "slow down", headers=SOON)] * 3) as server:
        async with way.models(server) as models:
            with pytest.raises(ModelError, match=r"rate limit or quota.*slow down") as fault:
                await models.ask("main", ASK)
    assert way.name in str(fault.value)
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        (Fail(500, "sorry", headers=SOON), "out of order.*sorry"),
        (Fail(404, "no such model"), "not known to its provider.*no such model"),
        (Fail(400, "temperature must be 1"), "status 400.*temperature must be 1"),
        (Reset(), "cannot be reached"),
        (Garbage(), "did not answer"),
    ],
    ids=lambda value: repr(value) if not isinstance(value, str) else "",
)
async def test_other_troubles_say_what_they_are(way, trouble, words):
    with ModelServer(*[trouble] * 3) as server:
        async with way.models(server) as models:
            with pytest.raises(ModelError, match=words):
                await models.ask("main", ASK)


async def test_a_refused_key_is_not_tried_again(way, monkeypatch):
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "LOCAL_API_KEY"):
        monkeypatch.setenv(name, "key-of-nobody")
    with ModelServer() as server:
        async with way.models(server, max_retries=5) as models:
            with pytest.raises(ModelError, match=r"refuses the key.*environment variable"):
                await models.ask("main", ASK)


async def test_an_address_where_nobody_listens_cannot_be_reached():
    with ModelServer() as server:
        settings = ModelSettings(base_url=server.openai, max_retries=0)
    async with Models({"main": "openai/gpt-4o"}, settings, prices=PRICES) as models:
        with pytest.raises(ModelError, match="cannot be reached"):
            await models.ask("main", ASK)


async def test_patience_with_one_try_and_with_all_of_them_has_an_end(way):
    with ModelServer(*[Silence()] * 9) as server:
        async with way.models(server, attempt_timeout=1) as models:
            with pytest.raises(ModelError, match="cannot be reached: attempt_timeout"):
                await models.ask("main", ASK)
        async with way.models(server, timeout=1) as models:
            with pytest.raises(ModelError, match="did not answer within 1s"):
                await models.ask("main", ASK)


async def test_a_conversation_that_is_too_long_is_told_apart_from_faults(way):
    with ModelServer(TOO_LONG, Say("Better.")) as server:
        async with way.models(server) as models:
            with pytest.raises(PromptTooLong, match="210000 tokens"):
                await models.ask("main", ASK)
            assert (await models.ask("main", ASK)).message.text == "Better."
    assert len(server.requests) == 2


async def test_an_answer_that_fills_the_context_is_kept_because_it_was_paid_for(script):
    name = script({"text": "As I was say", "stop": "too_long", "usage": {"input_tokens": 10, "output_tokens": 5}})
    reply = await Models({"main": name}, prices=PRICES).ask("main", ASK)
    assert (reply.message.text, reply.stop, reply.usage.output_tokens) == ("As I was say", "too_long", 5)


async def test_settings_that_a_model_does_not_take_are_named():
    with ModelServer() as server:
        async with STREAMED.models(server, reasoning_tokens=2000) as models:
            with pytest.raises(ModelError, match=r"cannot be asked like this: .*reasoning_tokens"):
                await models.ask("main", ASK)


async def test_a_filtered_answer_says_so():
    for way in (CHAT, COMPATIBLE, RESPONSES):
        with ModelServer(Say("", stop="content_filter")) as server:
            async with way.models(server) as models:
                assert (await models.ask("main", ASK)).stop == "filter"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("opnai/gpt-5", "no provider is called 'opnai'; did you mean openai/gpt-5"),
        ("nowhere/at-all", "no provider is called 'nowhere'; there are: anthropic, "),
        ("gpt-5", "names no model; write PROVIDER/MODEL"),
        ("groq/llama", "pip install groq"),
        ("openai-api/elsewhere/thing", "ELSEWHERE_API_KEY"),
        ("scripted/nowhere.json", "the script nowhere.json cannot be read: No such file"),
    ],
)
def test_a_model_that_cannot_be_asked_is_found_out_before_work_begins(name, words):
    with pytest.raises(UsageError, match=words):
        Models({"main": "openai/gpt-5", "fast": name}, prices=PRICES).check()


@pytest.mark.parametrize(
    ("name", "variable"), [("openai/gpt-5", "OPENAI_API_KEY"), ("anthropic/claude-opus-5", "ANTHROPIC_API_KEY")]
)
def test_a_missing_key_is_named(name, variable, monkeypatch):
    monkeypatch.delenv(variable)
    with pytest.raises(UsageError, match=variable):
        Models({"main": name}, prices=PRICES).check()


WITHOUT_INSPECT = """
import sys
sys.modules["inspect_ai"] = None
from assay.models import Models, Prices
Models({"main": "openai/gpt-5"}, prices=Prices.load()).check()
"""


def test_without_inspect_the_error_says_what_to_install():
    result = subprocess.run([sys.executable, "-c", WITHOUT_INSPECT], capture_output=True, text=True)
    assert "UsageError: asking models needs more packages: pip install 'assay[agents]'" in result.stderr


def test_without_any_model_there_is_nothing_to_ask():
    with pytest.raises(UsageError, match="no model is set; name one with --model"):
        Models({"fast": "openai/gpt-5"}, prices=PRICES)
