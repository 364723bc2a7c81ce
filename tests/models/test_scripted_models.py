"""A scripted model says what is written down, whoever else asks and however often a trial is interrupted."""

import subprocess
import sys

import anyio
import pytest
from ways import PRICES

from assay.core.errors import ModelError, PromptTooLong, UsageError
from assay.models import Message, Models, ModelSettings, Prices, Tool, ToolCall

pytestmark = pytest.mark.anyio

ASK = [Message(role="user", text="What is in here?")]


async def test_replies_come_in_the_order_of_the_script(script):
    models = Models({"main": script("One.", {"text": "Two.", "reasoning": "After one."})}, prices=PRICES)
    first, second = await models.ask("main", ASK), await models.ask("main", ASK)
    assert (first.message.text, first.message.reasoning, first.number) == ("One.", None, 0)
    assert (second.message.text, second.message.reasoning, second.number) == ("Two.", "After one.", 1)
    with pytest.raises(ModelError, match="the script ends after 2 replies"):
        await models.ask("main", ASK)


async def test_a_script_calls_tools_rightly_and_wrongly(script):
    name = script(
        {"tool_calls": [{"name": "bash", "arguments": {"command": "ls"}}, {"name": "bash", "arguments": "ls"}]},
    )
    reply = await Models({"main": name}, prices=PRICES).ask("main", ASK, [Tool(name="bash", description="Run.")])
    right, wrong = reply.message.tool_calls
    assert reply.stop == "tool_calls"
    assert right == ToolCall(id="call-0-0", name="bash", arguments={"command": "ls"})
    assert (wrong.id, wrong.arguments) == ("call-0-1", {})
    assert "'ls' is not JSON" in wrong.fault


async def test_a_script_tells_usage_or_it_is_counted_in_letters(script):
    told = {"input_tokens": 3, "output_tokens": 4, "cached_tokens": 5, "cache_write_tokens": 6, "reasoning_tokens": 2}
    models = Models({"main": script({"text": "One.", "usage": told}, "12345678")}, prices=PRICES)
    assert (await models.ask("main", ASK)).usage.model_dump(exclude={"cost"}) == told
    usage = (await models.ask("main", [Message(role="user", text="x" * 400)])).usage
    assert (usage.input_tokens, usage.output_tokens, usage.cost) == (100, 2, None)


async def test_a_script_can_have_a_price(script, tmp_path):
    (tmp_path / "prices.json").write_text('{"models": {"scripted/*": {"input": 1, "output": 2}}}')
    name = script({"text": "One.", "usage": {"input_tokens": 1_000_000, "output_tokens": 500_000}})
    assert (await Models({"main": name}, prices=Prices.load(tmp_path / "prices.json")).ask("main", ASK)).usage.cost == 2


async def test_troubles_of_a_script_are_those_of_a_provider(script):
    name = script(
        {"fault": "rate limit", "times": 2, "text": "At last."},
        {"fault": "down", "times": 3, "text": "Too late."},
        {"fault": "down"},
        {"fault": "refused"},
        {"fault": "too long"},
        "Better.",
    )
    models = Models({"main": name}, ModelSettings(max_retries=2), prices=PRICES)
    assert (await models.ask("main", ASK)).message.text == "At last."
    for _ in range(2):
        with pytest.raises(ModelError, match="out of order, also not at try 3"):
            await models.ask("main", ASK)
    with pytest.raises(ModelError, match="refuses the key"):
        await models.ask("main", ASK)
    with pytest.raises(PromptTooLong):
        await models.ask("main", ASK)
    assert (await models.ask("main", ASK)).message.text == "Better."


async def test_trials_at_the_same_time_do_not_disturb_each_other(script):
    name = script(*[str(number) for number in range(20)])
    heard: dict[int, list[str]] = {trial: [] for trial in range(5)}

    async def trial(number: int) -> None:
        models = Models({"main": name}, prices=PRICES)
        for _ in range(20):
            heard[number].append((await models.ask("main", ASK)).message.text)

    async with anyio.create_task_group() as group:
        for number in heard:
            group.start_soon(trial, number)
    assert list(heard.values()) == [[str(number) for number in range(20)]] * 5


async def test_a_trial_that_is_taken_up_again_goes_on_where_it_was(script):
    name = script("One.", "A summary.", "Three.")
    models = Models({"main": name}, prices=PRICES)
    record = [await models.ask("main", ASK), await models.ask("fast", ASK)]
    again = Models({"main": name}, prices=PRICES)
    for reply in [*record, record[0]]:
        again.remember(reply)
    assert (await again.ask("main", ASK)).message.text == "Three."


BRAIN = """
def answer(messages, tools):
    if messages[-1].role == "tool":
        return f"I have heard {messages[-1].text!r}."
    return {"tool_calls": [{"name": tools[0].name, "arguments": {"command": messages[-1].text}}]}
"""


async def test_a_function_answers_what_it_is_told(tmp_path):
    (tmp_path / "brain.py").write_text(BRAIN)
    models = Models({"main": f"scripted/{tmp_path}/brain.py:answer"}, prices=PRICES)
    bash = Tool(name="bash", description="Run.")
    question = Message(role="user", text="ls")
    first = await models.ask("main", [question], [bash])
    assert first.message.tool_calls[0].arguments == {"command": "ls"}
    heard = Message(role="tool", tool_call_id=first.message.tool_calls[0].id, text="a.csv")
    assert (await models.ask("main", [question, first.message, heard], [bash])).message.text == "I have heard 'a.csv'."


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("[", "is not JSON"),
        ('{"text": "One."}', "Input should be a valid list"),
        ('["One.", {"txet": "Two."}]', r"1\..*txet: Extra inputs"),
        ('[{"fault": "moody"}]', r"0\..*fault: Input should be 'rate limit'"),
    ],
)
def test_a_faulty_script_is_found_out_before_work_begins(tmp_path, content, words):
    (tmp_path / "script.json").write_text(content)
    with pytest.raises(UsageError, match=words):
        Models({"main": f"scripted/{tmp_path}/script.json"}, prices=PRICES).check()


def test_a_missing_function_is_found_out_before_work_begins(tmp_path):
    (tmp_path / "brain.py").write_text(BRAIN)
    with pytest.raises(UsageError, match="defines no function question"):
        Models({"main": f"scripted/{tmp_path}/brain.py:question"}, prices=PRICES).check()


LIGHT = """
import sys
from assay.models import Models, Prices
models = Models({"main": sys.argv[1]}, prices=Prices.load())
print(*sorted({name.partition(".")[0] for name in sys.modules} & {"inspect_ai", "openai", "anthropic", "anyio"}))
models.check()
print(*sorted({name.partition(".")[0] for name in sys.modules} & {"inspect_ai", "openai", "anthropic"}))
"""


def test_inspect_is_loaded_when_a_model_is_asked_and_no_client_that_is_not_needed(script):
    result = subprocess.run([sys.executable, "-c", LIGHT, script("One.")], capture_output=True, text=True, check=True)
    assert result.stdout == "\ninspect_ai\n"
