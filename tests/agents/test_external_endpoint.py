"""The model endpoint of external agents: real clients, their wire formats, and hostile requests."""

import json
import socket
import subprocess
import sys
import tracemalloc
from contextlib import asynccontextmanager, suppress
from importlib.resources import files

import anyio
import pytest

from assay.agents.external.endpoint import MAX_VALIDATIONS, Endpoint
from assay.agents.external.http import MAX_BODY, MAX_BUFFERED, serve_all
from assay.agents.external.protocols import Gemini, Malformed, OpenAIChat, OpenAIResponses, RequestLimits
from assay.agents.external.protocols.schemas import make_tool
from assay.agents.model_budget import ModelBudget
from assay.models import Message, Models, ModelSettings, Prices, Sampling
from assay.records import Clock, OutOfBudget, read_events
from assay.records.events import OfferResult
from assay.records.selection import MAX_CANDIDATES
from assay.tasks import Budget

pytestmark = pytest.mark.anyio

WEATHER = {
    "type": "object",
    "properties": {"place": {"type": "string"}, "days": {"type": "integer", "minimum": 1}},
    "required": ["place"],
}
CALL = {"tool_calls": [{"name": "weather", "arguments": {"place": "Bergen", "days": 2}, "id": "call-1"}]}
USAGE = {"input_tokens": 100, "output_tokens": 20, "cached_tokens": 30, "reasoning_tokens": 5}


class Reached:
    """An open endpoint, and clients for it."""

    def __init__(self, endpoint, path):
        self.endpoint, self.path = endpoint, path
        self._clients = []

    def http(self):
        import httpx2

        transport = httpx2.AsyncHTTPTransport(uds=str(self.path))
        client = httpx2.AsyncClient(transport=transport, base_url="http://lab", timeout=120)
        self._clients.append(client)
        return client

    async def close(self):
        """Disconnect, and wait until the server notices: anyio complains if a stream ends while it is cancelled."""
        for client in self._clients:
            await client.aclose()
        await anyio.wait_all_tasks_blocked()

    def openai(self):
        import openai

        return openai.AsyncOpenAI(base_url="http://lab/v1", api_key="none", http_client=self.http(), max_retries=2)

    def anthropic(self):
        import anthropic

        return anthropic.AsyncAnthropic(base_url="http://lab", api_key="none", http_client=self.http(), max_retries=2)

    async def raw(self, data):
        """Send bytes that need not be HTTP, and return what comes back until the endpoint disconnects."""
        said = b""
        async with await anyio.connect_unix(self.path) as stream:
            with suppress(anyio.BrokenResourceError):
                await stream.send(data)
                await stream.send_eof()
                async for chunk in stream:
                    said += chunk
        return said


@pytest.fixture
def reached(trial, script, tmp_path):
    """Opens an endpoint with a scripted model."""

    @asynccontextmanager
    async def open_endpoint(*replies, fault=None, roles=None, pass_sampling=True, offer=None):
        async def validate(sent):
            return fault if sent is None else f"{len(sent)} bytes were sent"

        async with trial.bench({"main": script(*replies), **(roles or {})}) as bench:
            endpoint = Endpoint(bench, validate, offer=offer, pass_sampling=pass_sampling)
            listener = await anyio.create_unix_listener(tmp_path / "door")
            async with listener, anyio.create_task_group() as tasks:
                tasks.start_soon(serve_all, listener, endpoint.respond)
                door = Reached(endpoint, tmp_path / "door")
                yield door
                await door.close()
                tasks.cancel_scope.cancel()

    return open_endpoint


async def test_an_openai_client_can_chat_and_use_tools_and_is_metered(trial, reached):
    tool = {"type": "function", "function": {"name": "weather", "description": "the weather", "parameters": WEATHER}}
    async with reached({**CALL, "usage": USAGE}, "It rains.") as door:
        client = door.openai()
        messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Will it rain?"}]
        first = await client.chat.completions.create(model="gpt-9", messages=messages, tools=[tool])
        (call,) = first.choices[0].message.tool_calls
        assert (call.function.name, json.loads(call.function.arguments)) == ("weather", {"place": "Bergen", "days": 2})
        assert first.choices[0].finish_reason == "tool_calls"
        assert (first.usage.prompt_tokens, first.usage.completion_tokens, first.usage.total_tokens) == (130, 20, 150)
        assert first.usage.prompt_tokens_details.cached_tokens == 30
        said = first.choices[0].message.model_dump(exclude_none=True)
        messages += [said, {"role": "tool", "tool_call_id": call.id, "content": "rain"}]
        second = await client.chat.completions.create(model="gpt-9", messages=messages, tools=[tool])
        assert second.choices[0].message.content == "It rains."
    asks = trial.calls("model")
    assert [ask["used"]["steps"] for ask in asks] == [1, 2]
    assert asks[0]["used"]["tokens"] == 150
    messages = asks[1]["about"]["messages"]
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "tool"]
    assert messages[2]["tool_calls"][0]["arguments"] == {"place": "Bergen", "days": 2}
    clients = [note["about"] for note in trial.calls("note") if note["topic"] == "client"]
    assert [(note["protocol"], note["model"]) for note in clients] == [("openai chat", "gpt-9")]


async def test_a_request_names_its_role_as_the_model_or_in_a_header(trial, reached, script):
    review = script("reviewed", "reviewed", name="review.json")
    async with reached("main", "main", "main", roles={"review": review}) as door:
        client = door.openai()
        messages = [{"role": "user", "content": "Well?"}]

        async def ask(model, **more):
            reply = await client.chat.completions.create(model=model, messages=messages, **more)
            return reply.choices[0].message.content

        said = [await ask("gpt-9"), await ask("review"), await ask("gpt-9", extra_headers={"X-Assay-Role": "review"})]
        said += [await ask("fast"), await ask("gpt-9", extra_headers={"X-Assay-Role": "admin"})]
    assert said == ["main", "reviewed", "reviewed", "main", "main"]
    assert [ask["role"] for ask in trial.calls("model")] == ["main", "review", "review", "main", "main"]


async def test_sampling_settings_are_passed_on_and_recorded(trial, reached):
    chat = {"messages": [{"role": "user", "content": "a"}], "temperature": 0.5, "max_completion_tokens": 9, "seed": 3}
    contents = [{"role": "user", "parts": [{"text": "a"}]}]
    bodies = {
        "/v1/chat/completions": {**chat, "top_p": 0.9, "stop": "END"},
        "/v1/responses": {"input": "a", "temperature": 0, "max_output_tokens": 9},
        "/v1/messages": {**chat, "max_tokens": 7, "stop_sequences": ["a", "b"]},
        "/v1beta/models/g:generateContent": {"contents": contents, "generationConfig": {"topP": 0.5, "seed": 1}},
        "/chat/completions": {"messages": chat["messages"]},
    }
    async with reached(*["yes"] * 5) as door:
        for path, body in bodies.items():
            assert (await door.http().post(path, json=body)).status_code == 200
        for wrong in ({"temperature": -1}, {"max_tokens": 0}, {"top_p": "x"}, {"stop": ["x" * 300]}, {"stop": {}}):
            body = {"messages": chat["messages"], **wrong}
            assert (await door.http().post("/v1/chat/completions", json=body)).status_code == 400
    asked = [ask["about"]["sampling"] for ask in trial.calls("model")]
    unset = Sampling().model_dump(mode="json")
    assert asked == [
        {**unset, "temperature": 0.5, "top_p": 0.9, "max_tokens": 9, "stop": ["END"], "seed": 3},
        {**unset, "temperature": 0.0, "max_tokens": 9},
        {**unset, "temperature": 0.5, "max_tokens": 7, "stop": ["a", "b"]},
        {**unset, "top_p": 0.5, "seed": 1},
        None,
    ]


async def test_sampling_settings_can_be_dropped(trial, reached):
    async with reached("yes", pass_sampling=False) as door:
        body = {"messages": [{"role": "user", "content": "a"}], "temperature": 0.5}
        assert (await door.http().post("/v1/chat/completions", json=body)).status_code == 200
    assert trial.calls("model")[0]["about"]["sampling"] is None


async def test_an_openai_client_can_stream(reached):
    async with reached({"text": "Let me see.", **CALL, "usage": USAGE}) as door:
        stream = await door.openai().chat.completions.create(
            model="m", messages=[{"role": "user", "content": "Rain?"}], stream=True
        )
        chunks = [chunk async for chunk in stream]
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    assert "".join(delta.content or "" for delta in deltas) == "Let me see."
    assert [call.function.name for delta in deltas for call in delta.tool_calls or ()] == ["weather"]
    assert chunks[-1].usage.total_tokens == 150


async def test_openai_responses_work_whole_and_streamed(trial, reached):
    tool = {"type": "function", "name": "weather", "parameters": WEATHER, "strict": False}
    patch = {"type": "custom", "name": "patch", "description": "changes files"}
    custom = {"tool_calls": [{"name": "patch", "arguments": {"input": "*** Begin"}, "id": "call-2"}]}
    async with reached({"text": "Hm.", **CALL, "usage": USAGE}, custom, "It rains.") as door:
        client = door.openai()
        asked = {"model": "gpt-9", "tools": [tool, patch, {"type": "web_search"}]}
        first = await client.responses.create(instructions="Be brief.", input="Rain?", **asked)
        assert first.output_text == "Hm."
        assert first.output[1].arguments == json.dumps({"place": "Bergen", "days": 2})
        assert (first.usage.input_tokens, first.usage.output_tokens) == (130, 20)
        history = [{"role": "user", "content": "Rain?"}, *(item.model_dump(exclude_none=True) for item in first.output)]
        history.append({"type": "function_call_output", "call_id": "call-1", "output": "rain"})
        second = await client.responses.create(input=history, **asked)
        assert (second.output[0].type, second.output[0].input) == ("custom_tool_call", "*** Begin")
        async with client.responses.stream(input="And now?", model="gpt-9") as stream:
            kinds = [event.type async for event in stream]
            assert (await stream.get_final_response()).output_text == "It rains."
    assert kinds[0] == "response.created" and kinds[-1] == "response.completed"
    messages = trial.calls("model")[1]["about"]["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "tool"]
    assert (messages[1]["text"], messages[1]["tool_calls"][0]["id"]) == ("Hm.", "call-1")


async def test_an_anthropic_client_can_chat_use_tools_and_stream(trial, reached):
    tool = {"name": "weather", "description": "the weather", "input_schema": WEATHER}
    async with reached({"text": "Let me see.", **CALL, "usage": USAGE}, "It rains.") as door:
        client = door.anthropic()
        messages = [{"role": "user", "content": "Will it rain?"}]
        asked = {"model": "claude-9", "max_tokens": 100, "tools": [tool], "system": "Be brief."}
        first = await client.messages.create(messages=messages, **asked)
        assert [block.type for block in first.content] == ["text", "tool_use"]
        assert (first.content[1].input, first.stop_reason) == ({"place": "Bergen", "days": 2}, "tool_use")
        assert (first.usage.input_tokens, first.usage.cache_read_input_tokens, first.usage.output_tokens) == (
            100,
            30,
            20,
        )
        messages.append({"role": "assistant", "content": [block.model_dump() for block in first.content]})
        result = {"type": "tool_result", "tool_use_id": first.content[1].id, "content": "rain"}
        messages.append({"role": "user", "content": [result, {"type": "text", "text": "So?"}]})
        assert (await client.messages.count_tokens(model="claude-9", messages=messages)).input_tokens > 0
        async with client.messages.stream(messages=messages, **asked) as stream:
            assert "".join([text async for text in stream.text_stream]) == "It rains."
            assert (await stream.get_final_message()).stop_reason == "end_turn"
    messages = trial.calls("model")[1]["about"]["messages"]
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "tool", "user"]


async def test_an_anthropic_client_assembles_a_streamed_tool_call(reached):
    async with reached(CALL) as door:
        asked = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Rain?"}]}
        async with door.anthropic().messages.stream(**asked) as stream:
            final = await stream.get_final_message()
    assert final.content[0].input == {"place": "Bergen", "days": 2}


async def test_googles_format_works_with_calls_without_ids(trial, reached):
    schema = {"type": "OBJECT", "properties": {"place": {"type": "STRING"}}, "required": ["place"]}
    tools = [{"functionDeclarations": [{"name": "weather", "description": "the weather", "parameters": schema}]}]
    contents = [{"role": "user", "parts": [{"text": "Rain?"}]}]
    async with reached(CALL, "It rains.") as door, door.http() as client:
        path = "/v1beta/models/gemini-9"
        first = (await client.post(f"{path}:generateContent", json={"contents": contents, "tools": tools})).json()
        content = first["candidates"][0]["content"]
        call = content["parts"][0]["functionCall"]
        assert (call["name"], call["args"]) == ("weather", {"place": "Bergen", "days": 2})
        del call["id"]
        response = {"functionResponse": {"name": "weather", "response": {"output": "rain"}}}
        contents += [content, {"role": "user", "parts": [response]}]
        answer = await client.post(f"{path}:streamGenerateContent?alt=sse", json={"contents": contents})
        last = json.loads(answer.text.removeprefix("data: "))
        assert last["candidates"][0]["content"]["parts"] == [{"text": "It rains."}]
    messages = trial.calls("model")[1]["about"]["messages"]
    assert messages[1]["tool_calls"][0]["id"] == messages[2]["tool_call_id"]


async def test_a_tool_with_an_unsupported_schema_is_described_in_words(trial, reached):
    schema = {
        "$defs": {"point": {"type": "object", "properties": {"x": {"type": "number", "multipleOf": 2}}}},
        "type": "object",
        "properties": {"at": {"$ref": "#/$defs/point"}, "how": {"oneOf": [{"const": "fast"}, {"type": "null"}]}},
        "allOf": [{"required": ["at"]}],
    }
    tool = {"type": "function", "function": {"name": "draw", "parameters": schema}}
    async with reached({"tool_calls": [{"name": "draw", "arguments": {}}]}) as door:
        asked = {"model": "m", "messages": [{"role": "user", "content": "Draw."}], "tools": [tool]}
        assert (await door.openai().chat.completions.create(**asked)).choices[0].message.tool_calls


async def test_a_spent_budget_is_an_error_in_the_clients_format_that_is_not_retried(trial, reached):
    import anthropic
    import openai

    trial.budget = Budget(time=600, steps=50, tokens=140)
    async with reached({"text": "One.", "usage": USAGE}, "Two.") as door:
        messages = [{"role": "user", "content": "Go on."}]
        await door.openai().chat.completions.create(model="m", messages=messages)
        with pytest.raises(openai.APIStatusError) as refused:
            await door.openai().chat.completions.create(model="m", messages=messages)
        assert refused.value.status_code == 402 and refused.value.code == "insufficient_quota"
        with pytest.raises(anthropic.APIStatusError) as refused:
            await door.anthropic().messages.create(model="m", max_tokens=9, messages=messages)
        assert refused.value.body["error"]["type"] == "billing_error"
        assert door.endpoint.over.is_set() and "140 tokens" in str(door.endpoint.ended_by)
    assert len(trial.calls("model")) == 1


async def test_huge_prompts_in_many_threads_cannot_exceed_the_token_budget(trial, reached, tmp_path):
    trial.budget = Budget(time=600, steps=50, tokens=1_000)
    async with reached(*["Yes."] * 12) as door:
        client = door.http()
        body = {"messages": [{"role": "user", "content": "x" * 4_000_000}]}
        statuses = []

        async def ask():
            statuses.append((await client.post("/v1/chat/completions", json=body)).status_code)

        async with anyio.create_task_group() as tasks:
            for _ in range(12):
                tasks.start_soon(ask)
        assert statuses == [402] * 12
        assert "the next prompt may have 4,000,020" in str(door.endpoint.ended_by)
    assert trial.calls("model") == []


DENSE = {
    "a byte per token": [{"role": "user", "content": "x" * 3_900}],
    "characters of several bytes": [{"role": "user", "content": "\u0f3c" * 400}],
    "empty messages": [{"role": "user", "content": ""}] * 200,
    "names of tool calls": [
        {"role": "user", "content": "go"},
        {"role": "assistant", "tool_calls": [{"id": "i" * 990, "function": {"name": "f", "arguments": "{}"}}]},
    ],
}


@pytest.mark.parametrize("messages", DENSE.values(), ids=DENSE.keys())
async def test_a_prompt_of_which_every_byte_is_a_token_cannot_exceed_the_token_budget(trial, reached, messages):
    trial.budget = Budget(time=600, steps=50, tokens=1_000)
    async with reached("Yes.") as door:
        answer = await door.http().post("/v1/chat/completions", json={"messages": messages})
        assert (answer.status_code, door.endpoint.ended_by.limit) == (402, "tokens")
    assert trial.calls("model") == []


async def test_what_the_provider_counted_is_not_estimated_again(trial, reached):
    """A conversation of 4,000 bytes, which the provider counts as 1,000 tokens, continues with 900 tokens left."""
    trial.budget = Budget(time=600, steps=50, tokens=6_000)
    usage = {"input_tokens": 1_000, "output_tokens": 10}
    history = [{"role": "user", "content": "word " * 800}]
    async with reached(*[{"text": "Yes.", "usage": usage}] * 9) as door:
        client, statuses = door.http(), []
        for _ in range(6):
            statuses.append((await client.post("/v1/chat/completions", json={"messages": history})).status_code)
            history += [{"role": "assistant", "content": "Yes."}, {"role": "user", "content": "Go on."}]
        # After five replies 950 tokens are left, and the sixth prompt has over 1,000.
        assert statuses == [200] * 5 + [402]
        assert "950 are left; the next prompt may have 1,0" in str(door.endpoint.ended_by)


async def test_a_known_beginning_does_not_hide_what_is_new(trial, reached):
    trial.budget = Budget(time=600, steps=50, tokens=6_000)
    first = {"role": "user", "content": "word " * 800}
    async with reached({"text": "Yes.", "usage": {"input_tokens": 1_000, "output_tokens": 10}}, "No.") as door:
        client = door.http()
        for more, status in (([], 200), ([{"role": "user", "content": "x" * 4_000}], 402)):
            answer = await client.post("/v1/chat/completions", json={"messages": [first, *more]})
            assert answer.status_code == status


async def test_concurrent_calls_wait_while_the_budget_cannot_pay_for_all_of_them():
    clock = Clock(Budget(time=600, steps=50, tokens=1_000, cost=1.0))
    prices = Prices(models={"openai/m": {"input": 0, "output": 1_000}})
    models = Models({"main": "openai/m"}, ModelSettings(max_tokens=400), prices=prices)
    budget, under_way, counts, refused = ModelBudget(clock), 0, [], []

    async def ask():
        nonlocal under_way
        try:
            async with budget.reserve(models, "main", [Message(role="user", text="x" * 20)], []):
                under_way += 1
                counts.append(under_way)
                await anyio.lowlevel.checkpoint()
                under_way -= 1
                clock.count(tokens=410, cost=0.41, waited=0.0)
        except OutOfBudget as error:
            refused.append(error.limit)

    async with anyio.create_task_group() as tasks:
        for _ in range(12):
            tasks.start_soon(ask)
    # Two replies of 400 tokens fit next to each other; when 180 tokens are left, one more may start, and no other.
    assert (counts, clock.tokens) == ([1, 2, 1], 1_230)
    assert refused == ["tokens"] * 9


@pytest.mark.parametrize(
    ("model", "settings", "asked", "together"),
    [
        ("openai/gpt-5", ModelSettings(max_tokens=1_000), None, 3),  # with 32,000 tokens for reasoning
        ("openai/gpt-5", ModelSettings(max_tokens=1_000, reasoning_effort="none"), None, 8),
        ("openai/gpt-5", ModelSettings(), None, 1),  # whose replies have up to 128,000
        ("openai/gpt-5", ModelSettings(), 1_000, 8),
        ("openai/unknown", ModelSettings(), None, 3),  # as if 32,768 were the limit
    ],
)
async def test_as_many_calls_run_at_once_as_the_budget_pays_for_with_their_reasoning(model, settings, asked, together):
    budget, under_way, most = ModelBudget(Clock(Budget(time=600, steps=50, tokens=100_000))), 0, 0
    sampling = Sampling(max_tokens=asked) if asked else None

    async def ask():
        nonlocal under_way, most
        async with budget.reserve(
            Models({"main": model}, settings, prices=Prices()), "main", [Message(role="user")], [], sampling
        ):
            under_way += 1
            most = max(most, under_way)
            await anyio.wait_all_tasks_blocked()
            under_way -= 1

    async with anyio.create_task_group() as tasks:
        for _ in range(8):
            tasks.start_soon(ask)
    assert most == together


def test_calls_that_wait_at_the_same_time_wait_once():
    now = 0.0
    clock = Clock(Budget(time=600, steps=50, working=30), lambda: now)
    for moment, waited, since, total in [
        (40.0, 35.0, 40.0, 35.0),  # from 0 to 35
        (40.0, 35.0, 40.0, 35.0),  # the same
        (42.0, 30.0, 32.0, 40.0),  # from 10 to 40
        (60.0, 5.0, 10.0, 45.0),  # from 50 to 55
        (60.0, 2.0, 15.0, 47.0),  # from 45 to 47, before the last
        (60.0, 60.0, 60.0, 60.0),  # all of it
    ]:
        now = moment
        clock.count(tokens=0, cost=0.0, waited=waited, since=since)
        assert clock.waited == total
    assert clock.elapsed == 60.0


async def test_every_request_is_a_step(trial, reached):
    import openai

    trial.budget = Budget(time=600, steps=2)
    async with reached("One.", "Two.", "Three.") as door:
        client, messages = door.openai(), [{"role": "user", "content": "Go on."}]
        for _ in range(2):
            await client.chat.completions.create(model="m", messages=messages)
        with pytest.raises(openai.APIStatusError, match="all 2 steps are used"):
            await client.chat.completions.create(model="m", messages=messages)


async def test_a_prompt_that_is_too_long_is_a_client_error(reached):
    import openai

    async with reached({"error": "too long"}, "Short.") as door:
        with pytest.raises(openai.BadRequestError) as refused:
            await door.openai().chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}])
        assert refused.value.code == "context_length_exceeded"
        assert not door.endpoint.over.is_set()


async def test_an_unavailable_model_ends_the_trial_after_several_errors(reached):
    async with reached(*[{"error": "refused"}] * 5) as door, door.http() as client:
        asked = {"messages": [{"role": "user", "content": "Hello?"}]}
        for _ in range(5):
            assert not door.endpoint.over.is_set()
            assert (await client.post("/v1/chat/completions", json=asked)).status_code == 502
        assert door.endpoint.over.is_set()


MALFORMED = [
    b"",
    b"{",
    b"[]",
    b'{"messages": []}',
    b'{"messages": "hello"}',
    b'{"messages": [7]}',
    b'{"messages": [{"role": "wizard", "content": "x"}]}',
    b'{"messages": [{"role": "user", "content": {"text": 1}}]}',
    b'{"messages": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
]
MALFORMED_CHATS = [
    b'{"messages": [{"role": "tool", "content": "x"}]}',
    b'{"messages": [{"role": "user", "content": "x"}], "tools": [{"type": "function"}]}',
    b'{"messages": [{"role": "user", "content": "x"}], "tools": [{"function": {"name": "f", "parameters": 7}}]}',
    b'{"messages": [{"role": "assistant", "tool_calls": [{"id": "a", "function": null}]}]}',
]


async def test_malformed_requests_are_refused_and_cost_nothing(trial, reached):
    chat, others = "/v1/chat/completions", ("/v1/messages", "/v1/responses", "/v1beta/models/m:generateContent")
    asked = [(path, body) for body in MALFORMED for path in (chat, *others)] + [
        (chat, body) for body in MALFORMED_CHATS
    ]
    async with reached() as door, door.http() as client:
        for path, body in asked:
            answer = await client.post(path, content=body)
            assert (answer.status_code, bool(answer.json()["error"]["message"])) == (400, True), (path, body)
        assert not door.endpoint.over.is_set()
    assert trial.calls("model") == []


async def test_invalid_http_does_no_harm(reached):
    async with reached("Still here.") as door:
        for data in (
            b"\0\xff" * 1000,
            b"GET",
            b"GET / HTTP/9.9\r\n\r\n",
            b"POST / HTTP/1.1\r\n" + b"a: b\r\n" * 50_000,
        ):
            said = await door.raw(data)
            assert said == b"" or b" 4" in said.split(b"\r\n")[0]
        endless = f"POST /v1/messages HTTP/1.1\r\nhost: lab\r\ncontent-length: {MAX_BODY + 1}\r\n\r\n".encode()
        async with await anyio.connect_unix(door.path) as stream:
            await stream.send(endless)
            with pytest.raises((anyio.BrokenResourceError, anyio.EndOfStream)):
                while True:
                    await stream.send(b"x" * 10**6)
        answer = await door.openai().chat.completions.create(model="m", messages=[{"role": "user", "content": "Hi."}])
        assert answer.choices[0].message.content == "Still here."


def chat_body(**more):
    return json.dumps({"messages": [{"role": "user", "content": "x"}], **more}).encode()


def tool_with(schema):
    return {"type": "function", "function": {"name": "f", "parameters": schema}}


def count_nodes(schema):
    """Return the number of schemas in a schema."""
    nested = [*schema.get("properties", {}).values(), *schema.get("anyOf", [])]
    return 1 + sum(map(count_nodes, nested))


def test_a_schema_that_refers_to_itself_is_not_expanded():
    # Followed to a depth of 12, this schema of a few hundred bytes would have 15 ** 12 nodes.
    schema = {"properties": {"q": {"$ref": "#/a"}}, "a": {"anyOf": [{"$ref": "#/a"}] * 15}}
    tool = make_tool("f", "", schema, RequestLimits())
    assert tool.parameters["properties"]["q"] == {"anyOf": [{}] * 15}
    assert "The JSON schema of its arguments: " in tool.description


def test_a_schema_with_exponentially_many_nodes_is_refused():
    # Each level refers to the next one 15 times: 15 ** 10 nodes, none of which refers to itself.
    levels = {f"l{n}": {"anyOf": [{"$ref": f"#/l{n + 1}"}] * 15} for n in range(10)}
    with pytest.raises(Malformed, match="too large"):
        make_tool("f", "", {"properties": {"q": {"$ref": "#/l0"}}, **levels}, RequestLimits())


def test_a_schema_that_repeats_a_long_text_is_refused():
    schema = {"long": {"description": "x" * 10_000}, "properties": {f"p{n}": {"$ref": "#/long"} for n in range(1_000)}}
    with pytest.raises(Malformed, match="too large"):
        make_tool("f", "", schema, RequestLimits())


def test_a_large_ordinary_schema_is_accepted():
    schema = {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(1_000)}}
    tool = make_tool("f", "", schema, RequestLimits())
    assert count_nodes(tool.parameters) == 1_001


async def test_hostile_schemas_and_bodies_are_refused_and_cost_nothing(trial, reached):
    levels = {f"l{n}": {"anyOf": [{"$ref": f"#/l{n + 1}"}] * 15} for n in range(10)}
    deep = json.loads('{"a":' * 900 + "1" + "}" * 900)
    call = {"id": "a", "function": {"name": "f", "arguments": json.dumps(deep)}}
    bodies = [
        chat_body(tools=[tool_with({"properties": {"q": {"$ref": "#/l0"}}, **levels})]),
        chat_body(tools=[tool_with({})] * 501),
        chat_body(messages=[{"role": "user", "content": "x"}] * 10_001),
        chat_body(messages=[{"role": "assistant", "tool_calls": [call]}]),
        b'{"messages": [' + b"[]," * 300_000 + b"[]]}",
    ]
    async with reached("Fine.") as door, door.http() as client:
        for body in bodies:
            answer = await client.post("/v1/chat/completions", content=body)
            assert (answer.status_code, bool(answer.json()["error"]["message"])) == (400, True), body[:100]
        assert (await client.post("/v1/chat/completions", content=chat_body())).status_code == 200
    assert len(trial.calls("model")) == 1


async def test_no_client_or_model_makes_a_record_that_cannot_be_verified(trial, reached):
    """A reader of records refuses numbers of many digits and deep nesting, so none must get into one."""
    hostile = {"deep": json.loads("[" * 90 + "]" * 90), "long": 10**400}
    calls = [{"name": "f", "arguments": {"a": value}, "id": name} for name, value in hostile.items()]
    async with reached({"tool_calls": calls}, "Fine.") as door, door.http() as client:
        answer = await client.post("/v1/chat/completions", content=chat_body(tools=[tool_with({})]))
        tool_calls = answer.json()["choices"][0]["message"]["tool_calls"]
        assert [call["function"]["arguments"] for call in tool_calls] == ["{}", "{}"]
        for value in hostile.values():
            call = {"id": "a", "function": {"name": "f", "arguments": json.dumps({"a": value})}}
            for body in (
                chat_body(messages=[{"role": "assistant", "tool_calls": [call]}]),
                chat_body(tools=[tool_with({"properties": {"a": {"type": "string", "default": value}}})]),
            ):
                assert (await client.post("/v1/chat/completions", content=body)).status_code == 400
        assert (await client.post("/v1/chat/completions", content=chat_body())).status_code == 200
    assert len(trial.calls("model")) == 2
    assert read_events(trial.events, strict=True)


@pytest.mark.parametrize("inside", [False, True])
def test_json_values_are_counted_before_they_are_parsed(inside):
    listed = "[" + "[]," * 2_000_000 + "[]]"
    call = {"id": "a", "function": {"name": "f", "arguments": listed}}
    body = chat_body(messages=[{"role": "assistant", "tool_calls": [call]}]) if inside else listed.encode()
    tracemalloc.start()
    try:
        with pytest.raises(Malformed, match="JSON values"):
            limits = RequestLimits()
            OpenAIChat().parse_request(limits.load_json(body), limits)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # Parsed, two million lists take more than 100 MB; the text has 6 MB.
    assert peak < 5 * len(body)


def test_the_content_of_strings_does_not_count_as_json_values():
    limits = RequestLimits()
    text = '[{,\\"' * 100_000
    assert limits.load_json(json.dumps({"text": text}).encode()) == {"text": text}
    with pytest.raises(Malformed, match="not valid JSON"):
        limits.load_json(b'"' + b'\\"' * 1_000_000)


def test_many_calls_of_one_turn_are_one_message():
    items = [{"type": "function_call", "call_id": f"c{n}", "name": "f", "arguments": "{}"} for n in range(8_000)]
    request = OpenAIResponses().parse_request({"input": [{"role": "user", "content": "x"}, *items]}, RequestLimits())
    assert [len(message.tool_calls) for message in request.messages] == [0, 8_000]


def test_matching_responses_in_reverse_order_is_linear():
    def count_operations(size):
        calls = [{"functionCall": {"id": f"c{n}", "name": "f", "args": {}}} for n in range(size)]
        answers = [{"functionResponse": {"id": f"c{n}", "name": "f", "response": {}}} for n in reversed(range(size))]
        contents = [{"role": "model", "parts": calls}, {"role": "user", "parts": answers}]
        operations = []
        sys.setprofile(lambda frame, event, argument: operations.append(event))
        try:
            request = Gemini().parse_request({"contents": contents}, RequestLimits())
        finally:
            sys.setprofile(None)
        assert [message.tool_call_id for message in request.messages[1:]] == [f"c{n}" for n in reversed(range(size))]
        return len(operations)

    assert count_operations(1_000) < 3 * count_operations(500)


def test_responses_match_calls_by_id_or_else_in_order():
    calls = [
        {"functionCall": {"name": "f"}},
        {"functionCall": {"name": "f", "id": "x"}},
        {"functionCall": {"name": "f"}},
    ]
    answers = [{"functionResponse": {"name": "f", "id": "x"}}, *[{"functionResponse": {"name": "f"}}] * 2]
    contents = [{"role": "model", "parts": calls}, {"role": "user", "parts": answers}]
    model, *tools = Gemini().parse_request({"contents": contents}, RequestLimits()).messages
    first, second, third = (call.id for call in model.tool_calls)
    assert len({first, second, third}) == 3
    assert [message.tool_call_id for message in tools] == [second, first, third]
    with pytest.raises(Malformed, match="no open call"):
        Gemini().parse_request({"contents": [*contents, {"role": "user", "parts": answers[:1]}]}, RequestLimits())


async def test_the_total_size_of_unfinished_bodies_is_limited(reached):
    size = MAX_BODY - 1
    head = f"POST /v1/messages HTTP/1.1\r\nhost: lab\r\ncontent-length: {size}\r\n\r\n".encode()
    async with reached("Still here.") as door:
        async with (
            await anyio.connect_unix(door.path) as first,
            await anyio.connect_unix(door.path) as second,
            await anyio.connect_unix(door.path) as third,
        ):
            for stream in (first, second):
                await stream.send(head + b"x" * (size - 1))
            await third.send(head)
            with pytest.raises(anyio.BrokenResourceError):
                for _ in range((MAX_BUFFERED - 2 * size) // 10**6 + 5):
                    await third.send(b"x" * 10**6)
        answer = await door.openai().chat.completions.create(model="m", messages=[{"role": "user", "content": "Hi."}])
        assert answer.choices[0].message.content == "Still here."


async def test_other_paths_do_not_exist(reached):
    async with reached() as door, door.http() as client:
        assert (await client.get("/")).status_code == 404
        assert (await client.get("/v1/messages")).status_code == 405
        assert (await client.get("/v1/models")).json()["data"][0]["id"] == "main"


async def test_an_agent_that_keeps_offering_is_no_longer_answered_or_recorded(reached):
    offers = []

    async def offer():
        offers.append(None)
        return OfferResult(reply="kept")

    async with reached(offer=offer) as door:
        client = door.http()
        codes = [(await client.post("/offer")).status_code for _ in range(MAX_CANDIDATES + 3)]
    assert codes == [200] * MAX_CANDIDATES + [429] * 3 and len(offers) == MAX_CANDIDATES


async def test_validation_returns_no_score_and_is_limited(reached):
    async with reached(fault="the column side is missing") as door, door.http() as client:
        answer = await client.post("/validate")
        assert answer.json() == {"result": "Submission invalid! the column side is missing", "valid": False}
        answer = await client.post("/validate", files={"file": ("submission.csv", b"id,side\n")})
        assert answer.json() == {"result": "Submission invalid! 8 bytes were sent", "valid": False}
        assert (await client.post("/validate", files={"other": b"id,side\n"})).status_code == 400
        for _ in range(MAX_VALIDATIONS - 3):  # one that was refused counts, too
            assert (await client.post("/validate")).status_code == 200
        assert (await client.post("/validate")).status_code == 429


async def test_the_relay_forwards_a_port_to_the_socket_and_ends_with_its_command(reached):
    relay = str(files("assay.agents.external").joinpath("relay.py"))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    program = (
        "import json, urllib.request as r; body = {'messages': [{'role': 'user', 'content': 'Hi.'}]};"
        f"print(r.urlopen('http://127.0.0.1:{port}/v1/chat/completions', json.dumps(body).encode()).read().decode());"
        "raise SystemExit(7)"
    )
    async with reached("Hello.") as door:
        command = [sys.executable, relay, str(door.path), str(port), sys.executable, "-c", program]
        done = await anyio.run_process(command, check=False, stdin=subprocess.PIPE)
    assert json.loads(done.stdout)["choices"][0]["message"]["content"] == "Hello."
    assert done.returncode == 7
