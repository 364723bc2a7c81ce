"""A local model answers through the same client as every provider, with the real weights of SmolLM2."""

import json
import math
import sys

import anyio
import pytest
from inspect_ai.model import GenerateConfig, ResponseSchema, get_model
from inspect_ai.util import JSONSchema

from assay.core.errors import MissingDependency, ModelError, PromptTooLong, UsageError
from assay.models import Message, Models, ModelSettings, Prices, Sampling, Tool

pytestmark = pytest.mark.anyio

ASK = [Message(role="user", text="Pick a model for house prices.")]
OPTIONS = ["ridge", "forest", "boosting"]


def tool(name, options):
    properties = {"choice": {"type": "string", "enum": options}}
    parameters = {"type": "object", "properties": properties, "required": ["choice"]}
    return Tool(name=name, description="Pick a model.", parameters=parameters)


def smollm2(**options):
    settings = ModelSettings(options={"context": 512, **options})
    return Models({"main": "local/smollm2"}, settings, prices=Prices())


async def test_a_required_call_is_one_of_the_options_and_the_same_for_the_same_seed():
    models, seeded = smollm2(), Sampling(seed=7, top_logprobs=3)
    first, second = [
        await models.ask("main", ASK, [tool("pick", OPTIONS)], choice="pick", sampling=seeded) for _ in "ab"
    ]
    (call,) = first.message.tool_calls
    assert (call.name, first.stop, first.message.text) == ("pick", "tool_calls", "")
    assert call.arguments["choice"] in OPTIONS and list(call.arguments) == ["choice"]
    assert (first.message, first.logprobs) == (second.message, second.logprobs)
    usage = first.usage
    assert usage.input_tokens > 30 and usage.output_tokens == len(first.logprobs) and usage.cost == 0.0
    assert all(len(token.top) == 3 and token.logprob <= 0 for token in first.logprobs)


async def test_one_of_several_tools_is_called_with_its_own_arguments():
    tools = [tool("pick", OPTIONS), tool("tune", ["depth", "rate"])]
    (call,) = (await smollm2().ask("main", ASK, tools, choice="any", sampling=Sampling(seed=1))).message.tool_calls
    assert call.arguments["choice"] in {"pick": OPTIONS, "tune": ["depth", "rate"]}[call.name]


async def test_a_reply_with_a_schema_is_json_that_matches_it():
    schema = JSONSchema(type="object", properties={"folds": JSONSchema(enum=[3, 5, 10])}, required=["folds"])
    config = GenerateConfig(response_schema=ResponseSchema(name="plan", json_schema=schema), max_tokens=40, seed=3)
    smollm2().check()  # registers the provider
    output = await get_model("local/smollm2", context=512, memoize=False).generate("How many folds?", config=config)
    reply = json.loads(output.completion)
    assert list(reply) == ["folds"] and reply["folds"] in (3, 5, 10)


async def test_the_event_loop_runs_while_the_model_computes():
    replies, turns = [], 0

    async def ask():
        replies.append(await smollm2().ask("main", ASK, sampling=Sampling(max_tokens=8)))

    async with anyio.create_task_group() as group:
        group.start_soon(ask)
        while not replies:
            await anyio.sleep(0)
            turns += 1
    assert turns > 100


async def test_a_text_is_continued_without_a_template_and_split_into_its_tokens():
    models, text = smollm2(template="none"), "We hold these truths to be — naïve 🦙"
    pieces = await models.split_tokens("main", text)
    assert b"".join(pieces) == text.encode() and b" truths" in pieces
    prompt = [Message(role="user", text="We hold these truths to be")]
    ask = Sampling(max_tokens=1, temperature=0, top_logprobs=10)
    (token,) = (await models.ask("main", prompt, sampling=ask)).logprobs
    assert token.token == " self" == max(token.top, key=token.top.get)
    assert len(token.top) == 10 and sum(map(math.exp, token.top.values())) < 1
    (part,) = (await models.ask("main", [Message(role="user", text="🦙🦙🦙🦙")], sampling=ask)).logprobs
    assert math.log(0.01) < part.top["\n"] < 0, "likely tokens are returned also where the likeliest splits a character"


async def test_prompts_that_exceed_the_context_are_too_long_and_replies_end_with_their_limit():
    models = smollm2()
    with pytest.raises(PromptTooLong, match="512 tokens"):
        await models.ask("main", [Message(role="user", text="word " * 600)])
    reply = await models.ask("main", ASK, sampling=Sampling(max_tokens=4, temperature=0))
    assert (reply.stop, reply.usage.output_tokens) == ("length", 4)


async def test_a_slow_reply_is_given_up_after_the_timeout():
    settings = ModelSettings(timeout=0.01, options={"context": 512})
    with pytest.raises(ModelError, match="did not answer within"):
        await Models({"main": "local/smollm2"}, settings, prices=Prices()).ask("main", ASK)


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "No such file"), (b"PK\x03\x04", "is not a GGUF file"), (b"GGUF" + bytes(range(200)), "did not answer")],
)
async def test_wrong_weights_are_named_in_the_error(tmp_path, content, message):
    path = tmp_path / "weights.gguf"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises((UsageError, ModelError), match=message) as error:
        await Models({"main": f"local/{path}"}, prices=Prices()).ask("main", ASK)
    assert str(path) in str(error.value)


async def test_without_the_runtime_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(MissingDependency, match=r"run: pip install .*\[local\]'"):
        smollm2().check()
