"""Provider errors are retried as long as they may pass, and then reported with what to do about them."""

import subprocess
import sys

import pytest
from protocols import Say
from routes import CHAT, COMPATIBLE, MESSAGES, PRICES, RESPONSES, STREAMED
from server import TOO_LONG, Fail, Garbage, ModelServer, Reset, Silence

from assay.core.errors import ModelError, ModelUnavailable, PromptTooLong, RequestRejected, UsageError
from assay.models import Message, Models, ModelSettings
from assay.models.server_checks import PROVIDERS, check_name, check_provider

pytestmark = pytest.mark.anyio

ASK = [Message(role="user", text="What is in here?")]
PAUSE = 0.2
SOON = {"retry-after-ms": str(int(PAUSE * 1000))}


async def test_a_rate_limit_is_waited_out_and_the_wait_is_not_working_time(route):
    with ModelServer(Fail(429, headers=SOON), Fail(429, headers=SOON), Say("Two files.")) as server:
        async with route.models(server) as models:
            reply = await models.ask("main", ASK)
    assert reply.message.text == "Two files."
    assert len(server.requests) == 3
    # two pauses as long as the server asked for; only a clock that runs backwards could make them shorter
    assert 2 * PAUSE <= reply.waited < reply.seconds


@pytest.mark.parametrize(
    ("route", "failure"),
    [
        (CHAT, Fail(500, headers=SOON)),
        (RESPONSES, Fail(503, headers=SOON)),
        (MESSAGES, Fail(529, headers=SOON)),
        (STREAMED, Reset()),
        (COMPATIBLE, Reset()),
    ],
    ids=lambda value: getattr(value, "label", repr(value)),
)
async def test_an_outage_is_retried(route, failure):
    with ModelServer(failure, Say("Two files.")) as server:
        async with route.models(server) as models:
            assert (await models.ask("main", ASK)).message.text == "Two files."
    assert len(server.requests) == 2


async def test_inspect_continues_retrying_where_the_client_library_gives_up():
    with ModelServer(*[Fail(429, headers=SOON)] * 3, Say("Two files.")) as server:
        async with CHAT.models(server, max_retries=1) as models:
            assert (await models.ask("main", ASK)).message.text == "Two files."
    assert len(server.requests) == 4


@pytest.mark.parametrize(
    ("route", "failure", "error", "message"),
    [
        (CHAT, Fail(429, "slow down", headers=SOON), ModelUnavailable, r"openai/gpt-4o .*rate limit or quota.*slow"),
        (MESSAGES, Fail(429, "slow down", headers=SOON), ModelUnavailable, r"rate limit or quota.*slow down"),
        (RESPONSES, Fail(500, "sorry", headers=SOON), ModelUnavailable, "is unavailable.*sorry"),
        (STREAMED, Fail(529, "sorry", headers=SOON), ModelUnavailable, "is unavailable.*sorry"),
        (COMPATIBLE, Fail(404, "no such model"), ModelError, "unknown to its provider.*no such model"),
        (STREAMED, Fail(404, "no such model"), ModelError, "unknown to its provider.*no such model"),
        (RESPONSES, Fail(400, "temperature must be 1"), RequestRejected, "status 400.*temperature must be 1"),
        (CHAT, Reset(), ModelUnavailable, "cannot be reached"),
        (MESSAGES, Reset(), ModelUnavailable, "cannot be reached"),
        (CHAT, Garbage(), ModelError, "did not answer"),
        (RESPONSES, Garbage(), ModelError, "did not answer"),
        (STREAMED, Garbage(), ModelError, "did not answer"),
    ],
    ids=lambda value: getattr(value, "label", None) or ("" if isinstance(value, str | type) else repr(value)),
)
async def test_a_failure_that_does_not_pass_says_what_it_is(route, failure, error, message):
    with ModelServer(*[failure] * 3) as server:
        async with route.models(server) as models:
            with pytest.raises(ModelError, match=message) as raised:
                await models.ask("main", ASK)
    assert isinstance(raised.value, error)


@pytest.mark.parametrize("route", [RESPONSES, STREAMED, COMPATIBLE], ids=lambda route: route.label)
async def test_a_rejected_key_is_not_retried(route, monkeypatch):
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "LOCAL_API_KEY"):
        monkeypatch.setenv(name, "wrong-key")
    with ModelServer() as server:
        async with route.models(server, max_retries=5) as models:
            with pytest.raises(ModelError, match=r"rejected the API key.*environment variable") as raised:
                await models.ask("main", ASK)
    assert not isinstance(raised.value, ModelUnavailable)


async def test_an_address_without_a_server_cannot_be_reached():
    with ModelServer() as server:
        settings = ModelSettings(base_url=server.openai, max_retries=0)
    async with Models({"main": "openai/gpt-4o"}, settings, prices=PRICES) as models:
        with pytest.raises(ModelUnavailable, match="cannot be reached"):
            await models.ask("main", ASK)


def test_a_server_without_the_responses_api_is_found_before_the_work_starts():
    with ModelServer(responses_api=False) as server:
        settings = ModelSettings(base_url=server.openai)
        advice = r"has no Responses API \(404\).*--model openai-api/SERVICE/tiny.*responses_api=false"
        with pytest.raises(UsageError, match=advice):
            Models({"main": "openai/tiny"}, settings, prices=PRICES).check()
        chat = settings.model_copy(update={"options": {"responses_api": False}})
        Models({"main": "openai/tiny"}, chat, prices=PRICES).check()


def test_a_server_that_has_the_responses_api_or_is_down_is_not_refused():
    with ModelServer() as server:
        settings = ModelSettings(base_url=server.openai)
        Models({"main": "openai/tiny"}, settings, prices=PRICES).check()
    Models({"main": "openai/tiny"}, settings, prices=PRICES).check()


def test_a_dead_server_is_named_with_the_reason(route):
    with ModelServer() as server:
        models = route.models(server)
        models.check_servers()
    with pytest.raises(ModelUnavailable, match=f"{route.name}: cannot reach http://127.0.0.1:.*: connection refused"):
        models.check_servers()


async def test_a_request_without_any_connection_is_tried_three_times_and_says_why():
    with ModelServer() as server:
        settings = ModelSettings(base_url=server.openai, max_retries=9)
    reports = []
    models = Models({"main": "openai-api/local/thing"}, settings, prices=PRICES, report=reports.append)
    async with models:
        with pytest.raises(ModelUnavailable, match="openai-api/local/thing cannot be reached: connection refused"):
            await models.ask("main", ASK)
    assert reports == [f"openai-api/local/thing: retry {number}, connection refused" for number in (1, 2, 3)]
    assert models.trouble == reports[-1]


def test_names_are_checked_before_extras_are_demanded():
    for provider in PROVIDERS:
        check_provider(f"{provider}/model")
    with pytest.raises(UsageError, match=r"Unknown provider 'opanai'.*did you mean openai"):
        check_provider("opanai/gpt-5")
    with pytest.raises(UsageError, match="'gpt-5' is not a model"):
        check_name("gpt-5")
    from inspect_ai._util.registry import registry_find, registry_info

    import assay.models.inspect_client  # noqa: F401 - registers our own providers

    known = {registry_info(client).name.removeprefix("inspect_ai/") for client in registry_find(
        lambda entry: entry.type == "modelapi"
    )}  # fmt: skip
    assert set(PROVIDERS) <= known | {"scripted"}  # which needs no client


@pytest.mark.parametrize("route", [CHAT, STREAMED], ids=lambda route: route.label)
async def test_one_attempt_and_all_attempts_together_have_a_timeout(route):
    with ModelServer(*[Silence()] * 9) as server:
        async with route.models(server, attempt_timeout=1) as models:
            with pytest.raises(ModelUnavailable, match="cannot be reached: attempt_timeout"):
                await models.ask("main", ASK)
        async with route.models(server, timeout=1) as models:
            with pytest.raises(ModelUnavailable, match="did not answer within 1s"):
                await models.ask("main", ASK)


async def test_a_conversation_that_is_too_long_is_an_error_of_its_own(route):
    with ModelServer(TOO_LONG, Say("Better.")) as server:
        async with route.models(server) as models:
            with pytest.raises(PromptTooLong, match="210000 tokens"):
                await models.ask("main", ASK)
            assert (await models.ask("main", ASK)).message.text == "Better."
    assert len(server.requests) == 2


async def test_a_reply_that_fills_the_context_is_kept_because_it_was_paid_for(script):
    name = script({"text": "As I was say", "stop": "too_long", "usage": {"input_tokens": 10, "output_tokens": 5}})
    reply = await Models({"main": name}, prices=PRICES).ask("main", ASK)
    assert (reply.message.text, reply.stop, reply.usage.output_tokens) == ("As I was say", "too_long", 5)


async def test_settings_that_a_model_does_not_accept_are_named():
    with ModelServer() as server:
        async with STREAMED.models(server, reasoning_tokens=2000) as models:
            with pytest.raises(ModelError, match=r"does not accept these settings: .*reasoning_tokens"):
                await models.ask("main", ASK)


@pytest.mark.parametrize("route", (CHAT, COMPATIBLE, RESPONSES))
async def test_a_filtered_reply_says_so(route):
    with ModelServer(Say("", stop="content_filter")) as server:
        async with route.models(server) as models:
            assert (await models.ask("main", ASK)).stop == "filter"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("opnai/gpt-5", "Unknown provider 'opnai' of model opnai/gpt-5; did you mean openai?"),
        ("nowhere/at-all", "Unknown provider 'nowhere' of model nowhere/at-all; available: anthropic, "),
        ("gpt-5", "'gpt-5' is not a model; write PROVIDER/MODEL"),
        ("groq/llama", "pip install groq"),
        ("openai-api/elsewhere/thing", "ELSEWHERE_API_KEY"),
        ("scripted/nowhere.json", "Cannot read script nowhere.json: No such file"),
    ],
)
def test_a_model_that_cannot_be_called_is_found_before_the_work_starts(name, message):
    with pytest.raises(UsageError) as error:
        Models({"main": "openai/gpt-5", "fast": name}, prices=PRICES).check()
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("openai/gpt-5", "OPENAI_API_KEY"),
        ("anthropic/claude-opus-5", "ANTHROPIC_API_KEY"),
        ("openai-api/my-lab/model", "MY_LAB_API_KEY (any text if the server needs none)"),
    ],
)
def test_a_missing_key_is_named(name, variable, monkeypatch):
    monkeypatch.delenv(variable.partition(" ")[0], raising=False)
    with pytest.raises(UsageError) as error:
        Models({"main": name}, prices=PRICES).check()
    assert str(error.value) == f"Cannot set up model {name}: set {variable}"


WITHOUT_INSPECT = """
import sys
sys.modules["inspect_ai"] = None
from assay.models import Models, Prices
Models({"main": "openai/gpt-5"}, prices=Prices()).check()
"""


def test_without_inspect_the_error_says_what_to_install():
    result = subprocess.run([sys.executable, "-c", WITHOUT_INSPECT], capture_output=True, text=True)
    assert "MissingDependency: Calling a model requires the extra 'agents'; run: pip install" in result.stderr


def test_without_a_main_model_the_error_names_the_option():
    with pytest.raises(UsageError, match="No model given; pass --model"):
        Models({"fast": "openai/gpt-5"}, prices=PRICES)
