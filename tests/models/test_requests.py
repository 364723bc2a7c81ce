"""Requests go through the real clients of OpenAI and Anthropic to a local server, and replies come back."""

import gc
import json
import sys

import anyio
import pytest
from anyio import to_thread
from protocols import Call, Redacted, Say, Thought, Used
from routes import CHAT, COMPATIBLE, PRICES, RESPONSES, STREAMED
from server import ModelServer, Silence

from assay.core.errors import UsageError
from assay.models import Message, Models, Reply, Sampling, Tool, ToolCall

pytestmark = pytest.mark.anyio

ASK = [Message(role="system", text="Be brief."), Message(role="user", text="What is in here?")]
BASH = Tool(
    name="bash",
    description="Run a command.",
    parameters={
        "type": "object",
        "properties": {"command": {"type": "string", "description": "for the shell"}},
        "required": ["command"],
    },
)


async def test_a_request_is_answered(route):
    with ModelServer(Say("Two files.")) as server:
        async with route.models(server) as models:
            reply = await models.ask("main", ASK)
    assert (reply.message.role, reply.message.text, reply.stop) == ("assistant", "Two files.", "stop")
    assert (reply.model, reply.number) == (route.name, 0)
    assert "Be brief." in str(server.requests[0].body)
    assert 0 <= reply.waited <= reply.seconds


async def test_a_model_calls_tools_and_gets_their_results(route):
    with ModelServer(Say("I look.", Call("bash", {"command": "ls"})), Say("Two files.")) as server:
        async with route.models(server) as models:
            first = await models.ask("main", ASK, [BASH])
            result = Message(role="tool", tool_call_id=first.message.tool_calls[0].id, text="a.csv b.csv")
            second = await models.ask("main", [*ASK, first.message, result], [BASH])
    assert first.stop == "tool_calls"
    assert first.message.tool_calls == (ToolCall(id="call_1", name="bash", arguments={"command": "ls"}),)
    assert second.message.text == "Two files."
    assert "for the shell" in str(server.requests[0].body["tools"])
    sent = str(server.requests[1].body)
    assert "I look." in sent
    assert "a.csv b.csv" in sent


async def test_a_lone_surrogate_becomes_a_question_mark(route):
    with ModelServer(Say("cut \ud83d"), Say("Fine.")) as server:
        async with route.models(server) as models:
            first = await models.ask("main", ASK)
            second = await models.ask("main", [*ASK, first.message, ASK[-1]])
    assert (first.message.text, second.message.text) == ("cut ?", "Fine.")
    assert "cut ?" in str(server.requests[1].body)


async def test_a_lone_surrogate_in_arguments_becomes_a_question_mark():
    with ModelServer(Say("", Call("bash", {"command": "echo \ud83d"}))) as server:
        async with CHAT.models(server) as models:
            reply = await models.ask("main", ASK, [BASH])
    assert reply.message.tool_calls[0].arguments == {"command": "echo ?"}


# Names and arguments for which these providers would substitute tools of their own.
EDITOR = ("command", "path", "file_text", "insert_line", "new_str", "old_str", "view_range")
KNOWN = {"bash": ("command",), "python": ("code",), "text_editor": EDITOR, "web_search": ("query",)}


@pytest.mark.parametrize("name", KNOWN)
async def test_tools_are_sent_as_described_whatever_their_name(route, name):
    arguments = {argument: {"type": "string", "description": "ours"} for argument in KNOWN[name]}
    tool = Tool(name=name, description="Ours.", parameters={"type": "object", "properties": arguments})
    with ModelServer(Say("No.")) as server:
        async with route.models(server) as models:
            await models.ask("main", ASK, [tool])
    (sent,) = server.requests[0].body["tools"]
    described = sent.get("function", sent)
    schema = described.get("parameters") or described.get("input_schema")
    assert (described.get("description"), schema and schema["properties"]) == ("Ours.", arguments)


async def test_malformed_arguments_are_an_error_of_the_call_and_not_of_the_request():
    with ModelServer(Say(Call("bash", '{"command": "ls'))) as server:
        async with CHAT.models(server) as models:
            (call,) = (await models.ask("main", ASK, [BASH])).message.tool_calls
    assert call.arguments == {}
    assert '{"command": "ls' in call.parse_error


async def test_a_schema_that_inspect_would_not_pass_on_in_full_is_rejected():
    tool = Tool(name="vote", description="Vote.", parameters={"type": "object", "properties": {"n": {"const": 3}}})
    with ModelServer() as server:
        async with CHAT.models(server) as models:
            with pytest.raises(UsageError, match=r"Tool vote: .*parameters\.properties\.n\.const"):
                await models.ask("main", ASK, [tool])
    assert server.requests == []


async def test_usage_counts_full_price_cached_and_reasoning_tokens_separately(route):
    used = Used(input=600, output=50, cached=400, reasoning=7)
    with ModelServer(Say("Yes.", used=used)) as server:
        async with route.models(server) as models:
            usage = (await models.ask("main", ASK)).usage
    assert (usage.input_tokens, usage.cached_tokens, usage.output_tokens) == (600, 400, 50)
    assert usage.reasoning_tokens == 7
    assert usage.total_tokens == 1050
    assert usage.cost == PRICES.cost(route.name, usage)


async def test_tokens_written_to_the_cache_have_their_own_price():
    with ModelServer(Say("Yes.", used=Used(input=1000, output=100, written=2000))) as server:
        async with STREAMED.models(server) as models:
            usage = (await models.ask("main", ASK)).usage
    # list prices of claude-sonnet-5-5 for a million tokens: 2 input, 2.5 cache write, 10 output
    assert usage.cost == pytest.approx((1000 * 2 + 2000 * 2.5 + 100 * 10) / 1e6)


async def test_an_unknown_price_is_not_zero():
    with ModelServer(Say("Yes.")) as server:
        async with COMPATIBLE.models(server) as models:
            usage = (await models.ask("main", ASK)).usage
    assert usage.total_tokens == 15
    assert usage.cost is None


@pytest.mark.parametrize(
    ("route", "word"), ((CHAT, "length"), (RESPONSES, "max_output_tokens"), (STREAMED, "max_tokens"))
)
async def test_a_reply_that_was_cut_off_says_so(route, word):
    with ModelServer(Say("Well,", stop=word)) as server:
        async with route.models(server) as models:
            assert (await models.ask("main", ASK)).stop == "length"


async def test_settings_reach_the_provider():
    settings = {"temperature": 0.5, "top_p": 0.9, "max_tokens": 77, "seed": 3, "stop": ("END",)}
    with ModelServer(Say("Yes.")) as server:
        async with CHAT.models(server, **settings) as models:
            await models.ask("main", ASK)
    body = server.requests[0].body
    assert {name: body[name] for name in settings} == {**settings, "stop": ["END"]}


async def test_sampling_of_a_request_reaches_the_provider_unless_the_plan_sets_it():
    sampling = Sampling(temperature=0.7, top_p=0.8, max_tokens=9, stop=("STOP",), seed=5)
    with ModelServer(Say("Yes."), Say("Yes.")) as server:
        async with CHAT.models(server, temperature=0.0, stop=("END",)) as models:
            await models.ask("main", ASK, sampling=sampling)
            await models.ask("main", ASK)
    first, second = (request.body for request in server.requests)
    asked = {name: first[name] for name in ("temperature", "top_p", "max_tokens", "stop", "seed")}
    assert asked == {"temperature": 0.0, "top_p": 0.8, "max_tokens": 9, "stop": ["END"], "seed": 5}
    assert "top_p" not in second and "seed" not in second and second["temperature"] == 0.0


async def test_reasoning_is_shown_and_sent_back_to_openai_encrypted():
    with ModelServer(Say(Thought("Hm.", "secret"), Call("bash", {"command": "ls"})), Say("Done.")) as server:
        async with RESPONSES.models(server) as models:
            first = await models.ask("main", ASK, [BASH])
            stored = Reply.model_validate_json(first.model_dump_json()).message
            await models.ask("main", [*ASK, stored, Message(role="tool", tool_call_id="call_1", text="a.csv")], [BASH])
    assert first.message.reasoning == "Hm."
    reasoning = [item for item in server.requests[1].body["input"] if item["type"] == "reasoning"]
    assert [item["encrypted_content"] for item in reasoning] == ["secret"]


INTERLEAVED = Say(
    Thought("Hm.", "signed"),
    Redacted("locked"),
    "I look.",
    Call("bash", {"command": "ls"}, "call_1"),
    Thought("And then?", "signed too"),
    Call("bash", {"command": "pwd"}, "call_2"),
)


RESTARTED = """
import json, sys
import anyio
from assay.models import Message, Models, ModelSettings, Prices, Tool

async def main():
    record = json.load(sys.stdin)
    messages = [Message.model_validate(message) for message in record["messages"]]
    settings = ModelSettings.model_validate(record["settings"])
    async with Models({"main": record["model"]}, settings, prices=Prices()) as models:
        await models.ask("main", messages, [Tool.model_validate(record["tool"])])

anyio.run(main)
"""


async def test_thinking_is_sent_back_to_anthropic_unchanged_even_after_a_restart():
    """Anthropic rejects a conversation whose thinking was changed or moved: signatures and positions must survive."""
    results = [Message(role="tool", tool_call_id=id, text="fine") for id in ("call_1", "call_2")]
    with ModelServer(INTERLEAVED, Say("Done."), Say("Done.")) as server:
        async with STREAMED.models(server, reasoning_effort="medium") as models:
            first = await models.ask("main", ASK, [BASH])
            conversation = [*ASK, first.message, *results]
            await models.ask("main", conversation, [BASH])
            record = {
                "messages": [message.model_dump(mode="json") for message in conversation],
                "settings": models.settings("main").model_dump(mode="json"),
                "model": STREAMED.name,
                "tool": BASH.model_dump(mode="json"),
            }
        await anyio.run_process([sys.executable, "-c", RESTARTED], input=json.dumps(record).encode())
    assert first.message.reasoning == "Hm.\n\nAnd then?"
    sent = server.requests[1].body["messages"][1]["content"]
    kinds = ["thinking", "redacted_thinking", "text", "tool_use", "thinking", "tool_use"]
    assert [block["type"] for block in sent] == kinds
    assert (sent[0]["signature"], sent[1]["data"], sent[4]["signature"]) == ("signed", "locked", "signed too")
    assert server.requests[2].body["messages"] == server.requests[1].body["messages"]


async def test_the_thinking_of_one_model_is_not_sent_to_another():
    with ModelServer(INTERLEAVED) as server:
        async with STREAMED.models(server, reasoning_effort="medium") as models:
            message = (await models.ask("main", ASK, [BASH])).message
    with ModelServer(Say("Done.")) as server:
        async with CHAT.models(server) as models:
            await models.ask("main", [*ASK, message], [BASH])
    assert "I look." in str(server.requests[0].body)
    assert "signed" not in str(server.requests[0].body)


async def test_a_changed_message_is_sent_as_it_is_now():
    with ModelServer(Say(Thought("Hm.", "secret"), "A long story."), Say("Done.")) as server:
        async with RESPONSES.models(server) as models:
            message = (await models.ask("main", ASK)).message.model_copy(update={"text": "A story."})
            await models.ask("main", [*ASK, message, Message(role="user", text="Go on.")])
    assert "A story." in str(server.requests[1].body)
    assert "A long story." not in str(server.requests[1].body)


async def test_a_request_can_be_cancelled_at_any_moment(route):
    with ModelServer(Silence()) as server:
        async with route.models(server) as models, anyio.create_task_group() as group:
            group.start_soon(models.ask, "main", ASK)
            assert await to_thread.run_sync(server.arrived.wait, 60)
            group.cancel_scope.cancel()
        assert server.disconnected.wait(60)


async def test_earlier_requests_do_not_stay_in_memory(script):
    """Inspect keeps a transcript of every call, with all messages, in the context it runs in."""
    models = Models({"main": script(*["Yes."] * 20)}, prices=PRICES)
    for _ in range(20):
        await models.ask("main", ASK)
    gc.collect()
    assert [each for each in gc.get_objects() if type(each).__name__ == "ModelEvent"] == []
