"""A scripted model replies from its script, independent of other trials and of interruptions."""

import subprocess
import sys

import anyio
import pytest
from routes import PRICES

from assay.core.errors import ModelError, PromptTooLong, UsageError
from assay.models import Message, Models, ModelSettings, Prices, Tool, ToolCall

pytestmark = pytest.mark.anyio

ASK = [Message(role="user", text="What is in here?")]


async def test_replies_come_in_the_order_of_the_script(script):
    models = Models({"main": script("One.", {"text": "Two.", "reasoning": "After one."})}, prices=PRICES)
    first, second = await models.ask("main", ASK), await models.ask("main", ASK)
    assert (first.message.text, first.message.reasoning, first.number) == ("One.", None, 0)
    assert (second.message.text, second.message.reasoning, second.number) == ("Two.", "After one.", 1)
    with pytest.raises(ModelError, match="the script has only 2 replies"):
        await models.ask("main", ASK)


async def test_a_script_makes_valid_and_malformed_tool_calls(script):
    name = script(
        {"tool_calls": [{"name": "bash", "arguments": {"command": "ls"}}, {"name": "bash", "arguments": "ls"}]},
    )
    reply = await Models({"main": name}, prices=PRICES).ask("main", ASK, [Tool(name="bash", description="Run.")])
    valid, malformed = reply.message.tool_calls
    assert reply.stop == "tool_calls"
    assert valid == ToolCall(id="call-0-0", name="bash", arguments={"command": "ls"})
    assert (malformed.id, malformed.arguments) == ("call-0-1", {})
    assert "'ls' is not JSON" in malformed.parse_error


async def test_usage_comes_from_the_script_or_is_estimated_from_characters(script):
    usage = {"input_tokens": 3, "output_tokens": 4, "cached_tokens": 5, "cache_write_tokens": 6, "reasoning_tokens": 2}
    models = Models({"main": script({"text": "One.", "usage": usage}, "12345678")}, prices=PRICES)
    assert (await models.ask("main", ASK)).usage.model_dump(exclude={"cost"}) == usage
    usage = (await models.ask("main", [Message(role="user", text="x" * 400)])).usage
    assert (usage.input_tokens, usage.output_tokens, usage.cost) == (100, 2, None)


async def test_a_script_can_have_a_price(script):
    prices = Prices(models={"scripted/*": {"input": 1, "output": 2}})
    name = script({"text": "One.", "usage": {"input_tokens": 1_000_000, "output_tokens": 500_000}})
    assert (await Models({"main": name}, prices=prices).ask("main", ASK)).usage.cost == 2


async def test_errors_of_a_script_are_handled_like_those_of_a_provider(script):
    name = script(
        {"error": "rate limit", "times": 2, "text": "At last."},
        {"error": "down", "times": 3, "text": "Too late."},
        {"error": "down"},
        {"error": "refused"},
        {"error": "too long"},
        "Better.",
    )
    models = Models({"main": name}, ModelSettings(max_retries=2), prices=PRICES)
    assert (await models.ask("main", ASK)).message.text == "At last."
    for _ in range(2):
        with pytest.raises(ModelError, match="is unavailable after 3 attempts"):
            await models.ask("main", ASK)
    with pytest.raises(ModelError, match="rejected the API key"):
        await models.ask("main", ASK)
    with pytest.raises(PromptTooLong):
        await models.ask("main", ASK)
    assert (await models.ask("main", ASK)).message.text == "Better."


async def test_concurrent_trials_do_not_disturb_each_other(script):
    name = script(*[str(number) for number in range(20)])
    received: dict[int, list[str]] = {trial: [] for trial in range(5)}

    async def trial(number: int) -> None:
        models = Models({"main": name}, prices=PRICES)
        for _ in range(20):
            received[number].append((await models.ask("main", ASK)).message.text)

    async with anyio.create_task_group() as group:
        for number in received:
            group.start_soon(trial, number)
    assert list(received.values()) == [[str(number) for number in range(20)]] * 5


async def test_a_resumed_trial_continues_the_script(script):
    name = script("One.", "A summary.", "Three.")
    models = Models({"main": name}, prices=PRICES)
    record = [await models.ask("main", ASK), await models.ask("fast", ASK)]
    resumed = Models({"main": name}, prices=PRICES)
    for reply in [*record, record[0]]:
        resumed.remember(reply)
    assert (await resumed.ask("main", ASK)).message.text == "Three."


BRAIN = """
def answer(messages, tools):
    if messages[-1].role == "tool":
        return f"The result is {messages[-1].text!r}."
    return {"tool_calls": [{"name": tools[0].name, "arguments": {"command": messages[-1].text}}]}
"""


async def test_a_function_replies_to_the_conversation(tmp_path):
    (tmp_path / "brain.py").write_text(BRAIN)
    models = Models({"main": f"scripted/{tmp_path}/brain.py:answer"}, prices=PRICES)
    bash = Tool(name="bash", description="Run.")
    question = Message(role="user", text="ls")
    first = await models.ask("main", [question], [bash])
    assert first.message.tool_calls[0].arguments == {"command": "ls"}
    result = Message(role="tool", tool_call_id=first.message.tool_calls[0].id, text="a.csv")
    assert (
        await models.ask("main", [question, first.message, result], [bash])
    ).message.text == "The result is 'a.csv'."


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("[", "is not JSON"),
        ('{"text": "One."}', "Input should be a valid list"),
        ('["One.", {"txet": "Two."}]', r"1\..*txet: unknown setting"),
        ('[{"error": "moody"}]', r"0\..*error: Input should be 'rate limit'"),
    ],
)
def test_a_broken_script_is_found_before_the_work_starts(tmp_path, content, words):
    (tmp_path / "script.json").write_text(content)
    with pytest.raises(UsageError, match=words):
        Models({"main": f"scripted/{tmp_path}/script.json"}, prices=PRICES).check()


def test_a_missing_function_is_found_before_the_work_starts(tmp_path):
    (tmp_path / "brain.py").write_text(BRAIN)
    with pytest.raises(UsageError, match="defines no function question"):
        Models({"main": f"scripted/{tmp_path}/brain.py:question"}, prices=PRICES).check()


LIGHT = """
import os, sys
from importlib import import_module
from assay.models import Models, Prices
from assay.models.client import modules_to_preload
models = Models({"main": sys.argv[1]}, prices=Prices())
print(*sorted({name.partition(".")[0] for name in sys.modules} & {"inspect_ai", "openai", "anthropic", "anyio"}))
models.check()
print(*sorted({name.partition(".")[0] for name in sys.modules} & {"inspect_ai", "openai", "anthropic"}))
for module in modules_to_preload(["openai/gpt-4o"]):
    import_module(module)
before = set(sys.modules)
os.environ["OPENAI_API_KEY"] = "key"
Models({"main": "openai/gpt-4o"}, prices=Prices()).check()
print(*sorted({name.partition(".")[0] for name in sys.modules} & {"openai", "anthropic"}), set(sys.modules) - before)
"""


def test_a_script_needs_no_client_library_and_other_models_import_only_the_one_in_use(script):
    """Looks at imported modules because each takes seconds of every command, which no output shows."""
    result = subprocess.run([sys.executable, "-c", LIGHT, script("One.")], capture_output=True, text=True, check=True)
    assert result.stdout == "\n\nopenai set()\n"
