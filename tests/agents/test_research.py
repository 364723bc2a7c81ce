"""Complete trials of the research agent and its ablations with scripted models, in a sealed lab."""

import json
import random
import re

import pytest

from assay.agents.agent import find_agent
from assay.agents.mlagentbench import Act, React, Research
from assay.core.errors import ModelError, UsageError
from assay.records.tape import Diverged
from assay.tasks import Budget

pytestmark = pytest.mark.anyio

HEADS = """import csv
with open("data/test.csv") as test, open("submission.csv", "w") as out:
    out.write("coin,side\\n")
    for row in csv.DictReader(test):
        out.write(f"{row['coin']},{int(int(row['coin']) % 3 == 0)}\\n")
print("accuracy 1.0")
"""


def say(action, plan="1. Look around.", thought="Continue.", **arguments):
    """Return a reply of the research agent's model."""
    return (
        f"Reflection: Fine.\nResearch Plan and Status: {plan}\nFact Check: Guessed.\nThought: {thought}\n"
        f"Action: {action}\nAction Input: {json.dumps(arguments)}"
    )


EDIT = {"script_name": "train.py", "edit_instruction": "Every third shows its head.", "save_name": "train.py"}
END = say("Final Answer", final_answer="Solved.")
STORY = (
    say("List Files", dir_path="."),
    say("Understand File", file_name="data/train.csv", things_to_look_for="a rule"),
    say("Execute Script", script_name="train.py"),
    say("Edit Script (AI)", plan="1. **Every third.**", **EDIT),
    say("Execute Script", script_name="train.py"),
    END,
)


def prompts_of(trial, role="main"):
    """Return all prompts of a role."""
    asks = [ask for ask in trial.calls("model") if ask["role"] == role]
    return ["\n".join(message["text"] for message in ask["about"]["messages"]) for ask in asks]


@pytest.fixture
def helpers(script):
    """Scripted models for the roles `fast` and `edit`."""
    return {
        "fast": script(*["Every third coin shows its head."] * 50, name="fast"),
        "edit": script(*[f"````\n{HEADS}````"] * 50, name="edit"),
    }


async def test_a_complete_trial_up_to_the_final_answer(trial, script, helpers):
    files = await trial.work(Research(), {"main": script(*STORY), **helpers})
    assert files["submission.csv"].splitlines()[:3] == [b"coin,side", b"30,1", b"31,0"]
    assert trial.actions() == [
        ("List Files", None), ("Understand File", None), ("Execute Script", None), ("Edit Script (AI)", None),
        ("Execute Script", None), ("Final Answer", None),
    ]  # fmt: skip
    assert trial.calls("action")[-1]["used"]["steps"] == 6
    prompts = prompts_of(trial)
    assert "Guess which side of each coin is up." in prompts[0]
    assert "You have 50 steps and 10m left." in prompts[0] or "You have 50 steps and 9m" in prompts[0]
    assert "You have 45 steps" in prompts[5]
    assert "Every third coin shows its head." in prompts[2]
    assert "+        out.write(f" in prompts[4]


async def test_the_last_three_steps_and_the_plan_stay_in_context(trial, script):
    steps = [say("List Files", plan=f"**plan {n}**", thought=f"thought {n}", dir_path="data") for n in range(4)]
    steps[2] = say("List Files", plan="plan 2", thought="thought 2", dir_path=".")
    await trial.work(Research(observations_in_context=1), {"main": script(*steps, END)})
    last = prompts_of(trial)[4]
    assert "thought 0" not in last
    assert all(f"plan {n}" in last and f"thought {n}" in last for n in (1, 2, 3))
    assert "**plan" not in last
    assert last.count("Observation:\n(executed; the observation is omitted here)") == 2
    assert last.count("Observation:\ntest.csv\ntrain.csv") == 1
    assert "## Step 2" in last and "## Step 4" in last


async def test_unreadable_replies_are_retried_and_take_no_step(trial, script):
    replies = ["", "I think I should look around.", say("List Files", dir_path=".").replace("Fact Check", "Facts"), END]
    await trial.work(Research(), {"main": script(*replies)})
    assert trial.actions() == [("Final Answer", None)]
    assert trial.calls("action")[0]["used"]["steps"] == 1
    prompts = prompts_of(trial)
    assert "could not be used" not in prompts[0]
    assert "could not be used: It was empty." in prompts[1]
    assert 'could not be used: It has no "Reflection", ' in prompts[2]
    assert 'could not be used: It has no "Fact Check".' in prompts[3]
    assert [note["about"]["cause"] for note in trial.calls("note")] == ["format"] * 3


async def test_a_reply_that_was_cut_off_is_rejected_with_that_reason(trial, script):
    await trial.work(Research(), {"main": script({"text": "Reflection: Well,", "stop": "length"}, END)})
    assert "It was cut off because it was too long; be brief." in prompts_of(trial)[1]


async def test_too_many_unreadable_replies_end_the_trial_and_the_submission_counts(trial, script):
    replies = [say("Execute Script", script_name="train.py"), *["no"] * 4, ""]
    files = await trial.work(Research(), {"main": script(*replies)})
    assert "submission.csv" in files
    last = trial.calls("note")[-1]
    assert (last["topic"], last["about"]["cause"]) == ("gave up", "format")
    assert last["about"]["reason"] == "none of 5 replies was readable; the last: It was empty."


async def test_invalid_json_unknown_actions_and_wrong_arguments_take_a_step(trial, script):
    wrong = say("List Files", dir_path=".").replace('"."}', '"./da')
    replies = [wrong, say("Fly", to="the moon"), say("List Files", folder="."), END]
    await trial.work(Research(), {"main": script(*replies)})
    assert trial.actions() == [
        ("List Files", "format"), ("Fly", "arguments"), ("List Files", "arguments"), ("Final Answer", None),
    ]  # fmt: skip
    prompts = prompts_of(trial)
    assert "The Action Input is not JSON" in prompts[1]
    assert "There is no action called 'Fly'" in prompts[2]
    assert "'dir_path' is missing, there is no argument 'folder'" in prompts[3]


async def test_only_offered_actions_can_be_used(trial, script):
    agent = Research(add_actions=("Python REPL",), remove_actions=("Copy File",))
    copy = say("Copy File", source="train.py", destination="x")
    files = await trial.work(agent, {"main": script(copy, say("Python REPL", command="6 * 7"), END)})
    assert trial.actions() == [("Copy File", "arguments"), ("Python REPL", None), ("Final Answer", None)]
    assert trial.calls("action")[1]["observation"] == "42"
    assert "x" not in files
    assert "## Copy File" not in prompts_of(trial)[0]
    assert "## Request Help" not in prompts_of(trial)[0]


async def test_lists_and_objects_serve_as_prose_but_not_as_paths(trial, script, helpers):
    looked_for = ["columns", {"of": "the table"}]
    replies = [
        say("Understand File", file_name="data/train.csv", things_to_look_for=looked_for),
        say("Edit Script (AI)", **{**EDIT, "edit_instruction": ["Every third", "shows its head."]}),
        say("List Files", dir_path=["."]),
        say("Understand File", file_name="data/train.csv", things_to_look_for=None),
        say("Final Answer", final_answer={"accuracy": 1.0}),
    ]
    await trial.work(Research(), {"main": script(*replies), **helpers})
    assert trial.actions() == [
        ("Understand File", None), ("Edit Script (AI)", None), ("List Files", "arguments"),
        ("Understand File", "arguments"), ("Final Answer", None),
    ]  # fmt: skip
    assert str(looked_for) in prompts_of(trial, "fast")[0]
    assert "['Every third', 'shows its head.']" in prompts_of(trial, "edit")[0]


async def test_under_the_published_rules_malformed_calls_take_no_step_and_hidden_actions_work(trial, script):
    broken = say("List Files", dir_path=".").replace('"."}', '"./da')
    replies = [
        say("Fly", to="the moon"),
        broken,
        say("List Files", folder="."),
        say("Read File", file_name="train.py"),
        say("Validate Submission"),
        say("List Files", dir_path=["."]),
        END,
    ]
    await trial.work(Research(rules="published"), {"main": script(*replies)})
    assert trial.actions() == [("Read File", None), ("List Files", "arguments"), ("Final Answer", None)]
    prompts = prompts_of(trial)
    assert "There is no action called 'Fly'." in prompts[1]
    assert "The Action Input is not JSON" in prompts[2] and "is not JSON" in prompts[3]
    assert "'dir_path' is missing, there is no argument 'folder'" in prompts[3]
    assert "is not JSON" not in prompts[4] and "'dir_path' is missing" not in prompts[4]
    names = ["List Files", "Copy File", "Undo Edit Script", "Execute Script", "Final Answer", "Understand File"]
    names += ["Inspect Script Lines", "Edit Script (AI)"]
    assert re.findall("^## (.*)$", prompts[0], re.M)[: len(names)] == names
    assert "steps and" not in prompts_of(trial)[0].rpartition("# Previous steps")[2]


async def test_the_published_prompt_has_the_research_problem_and_no_budget_or_rules(trial, script):
    await trial.work(Research(rules="published"), {"main": script(say("List Files", dir_path="."), END)})
    prompt, after = prompts_of(trial)
    assert "Guess which side" in prompt
    assert all(heading not in prompt for heading in ("# Budget", "# Rules", "# Submission", "# Evaluation"))
    assert "backup/\ndata/\ndescription.md\ntrain.py\n" in after


async def test_endless_malformed_calls_end_a_trial_under_the_published_rules(trial, script):
    await trial.work(Research(rules="published"), {"main": script(*[say("List Files", folder=".")] * 60)})
    assert trial.actions() == []
    assert trial.calls("note")[-1]["about"]["reason"] == "50 malformed actions in a row"


@pytest.mark.parametrize("settings", [{"rules": "published"}, {"max_repeats": 0}])
async def test_the_limit_on_repetition_can_be_switched_off(trial, script, settings):
    replies = [say("List Files", dir_path=".")] * 12
    recorded = find_agent("research", settings).model_dump(mode="json")
    await trial.work(find_agent("research", recorded), {"main": script(*replies, END)})
    assert [name for name, _ in trial.actions()] == [*["List Files"] * 12, "Final Answer"]
    assert "times in a row" not in prompts_of(trial)[-1]


def test_settings_are_validated():
    with pytest.raises(UsageError, match="unknown action 'Fly'"):
        find_agent("research", {"add_actions": "Fly, Read File"})
    agent = find_agent(
        "research", {"add_actions": "Read File, Write File", "interactive": True, "script_seconds": "5m"}
    )
    assert [action.name for action in agent.offered_actions()][-5:] == [
        "Read File",
        "Write File",
        "Validate Submission",
        "Request Help",
        "Final Answer",
    ]
    assert agent.script_seconds == 300


async def test_repeated_actions_are_warned_about_and_then_end_the_trial(trial, script):
    replies = [say("Execute Script", script_name="train.py")] * 20
    files = await trial.work(Research(max_repeats=5), {"main": script(*replies)})
    assert len(trial.actions()) == 5
    prompts = prompts_of(trial)
    assert "times in a row" not in prompts[2]
    assert "You have done exactly this 3 times in a row" in prompts[3]
    assert trial.calls("note")[-1]["about"]["cause"] == "repeats"
    assert "submission.csv" in files


async def test_the_trial_ends_with_its_budget(trial, script):
    trial.budget = Budget(time=600, steps=3)
    replies = [say("List Files", dir_path=path) for path in (".", "data")] * 5
    await trial.work(Research(), {"main": script(*replies)})
    assert len(trial.actions()) == 3


async def test_a_budget_that_ends_during_an_action_is_the_failure_cause(trial, script, helpers):
    trial.budget = Budget(time=600, steps=30, tokens=100_000)
    free = {"input_tokens": 1, "output_tokens": 1}
    long = say("Write File", file_name="long", content="word\n" * 4_000)
    understand = say("Understand File", file_name="long", things_to_look_for="words")
    roles = {
        "main": script({"text": long, "usage": free}, {"text": understand, "usage": free}),
        "fast": script({"text": "words", "usage": {"input_tokens": 100_000}}, name="fast"),
    }
    files = await trial.work(Research(add_actions=("Write File",)), roles)
    assert trial.actions() == [("Write File", None), ("Understand File", "budget")]
    assert "all 100,000 tokens are used" in trial.calls("action")[1]["observation"]
    assert "long" in files


async def test_long_observations_are_summarized_by_the_fast_model(trial, script):
    await trial.work(
        Research(add_actions=("Write File",)),
        {
            "main": script(
                say("Write File", file_name="a.py", content="for n in range(1500): print('line', n)"),
                say("Execute Script", thought="I print.", script_name="a.py"),
                END,
            ),
            "fast": script("first half", "second half", "It printed lines 0 to 1499.", name="fast"),
        },
    )
    summary = "(summary of "
    assert summary in prompts_of(trial)[2] and "It printed lines 0 to 1499." in prompts_of(trial)[2]
    assert "line 77\n" not in prompts_of(trial)[2]
    first, second, merge = prompts_of(trial, "fast")
    assert "part 1 of 2" in first and "line 0\n" in first and "I print." in first
    assert "part 2 of 2" in second and "line 1499" in second
    assert "first half" in merge and "second half" in merge
    assert "line 77\n" in trial.calls("action")[1]["observation"]


async def test_an_observation_that_cannot_be_summarized_is_cut(trial, script):
    roles = {
        "main": script(say("Write File", file_name="a.py", content="print('x' * 9000); print('end')"),
                       say("Execute Script", script_name="a.py"), END),
        "fast": script({"error": "refused"}, name="fast"),
    }  # fmt: skip
    await trial.work(Research(add_actions=("Write File",)), roles)
    assert "characters omitted" in prompts_of(trial)[2] and "x\nend" in prompts_of(trial)[2]


async def test_a_context_that_is_too_long_is_compressed_step_by_step(trial, script):
    looks = [say("Python REPL", thought=f"thought {n}", command=f"'{n}' * 1_500") for n in range(3)]
    roles = {
        "main": script(*looks, *[{"error": "too long"}] * 3, say("List Files", thought="next", dir_path="."), END),
        "fast": script("All twos.", name="fast"),
    }
    await trial.work(Research(add_actions=("Python REPL",)), roles)
    assert trial.actions()[-2:] == [("List Files", None), ("Final Answer", None)]
    whole, last_observation, summed_up, last_step, after = prompts_of(trial)[3:]
    assert all(str(n) * 1_500 in whole for n in range(3))
    assert "2" * 1_500 in last_observation and "1" * 1_500 not in last_observation and "thought 0" in last_observation
    assert "2" * 1_500 not in summed_up and "All twos." in summed_up and "thought 0" in summed_up
    assert "All twos." in last_step and "thought 1" not in last_step
    assert "next" in after and "thought 2" not in after


async def test_a_prompt_that_never_fits_ends_the_trial_with_that_cause(trial, script):
    replies = [say("Execute Script", script_name="train.py"), *[{"error": "too long"}] * 10]
    files = await trial.work(Research(), {"main": script(*replies), "fast": script("short", name="fast")})
    assert "submission.csv" in files
    assert [note["about"]["cause"] for note in trial.calls("note")] == ["too long"]


async def test_an_unavailable_model_interrupts_the_trial_which_can_be_resumed(trial, script):
    with pytest.raises(ModelError):
        await trial.work(Research(), {"main": script(say("List Files", dir_path="."), {"error": "refused"})})
    # The resumed trial repeats the request and continues.
    await trial.work(Research(), {"main": script("never asked again", END)})
    assert trial.actions() == [("List Files", None), ("Final Answer", None)]


async def test_with_retrieval_a_log_is_kept_and_searched_without_taking_steps(trial, script):
    steps = [say("List Files", plan=f"plan {n}", dir_path=path) for n, path in enumerate([".", "data"] * 3)]
    entries = [f"Action: entry {n}" for n in range(1, 7)]
    fast = [*entries[:4], "found it", entries[4], "found more", entries[5], "found"]
    roles = {"main": script(*steps[:6], END), "fast": script(*fast, name="fast")}
    files = await trial.work(Research(retrieval=True), roles)
    assert files["research_log.log"].decode().count("Action: entry") == 6
    assert files["research_log.log"].startswith(b"[Step 1]\nAction: entry 1\n\n[Step 2]")
    assert trial.calls("action")[-1]["used"]["steps"] == 7
    prompts = prompts_of(trial)
    assert "from your research log" not in prompts[3]
    assert "# Relevant entries from your research log\n\nfound it" in prompts[4]
    assert "## Reflection" in prompts[0]
    retrieved = prompts_of(trial, "fast")[4]
    assert "plan 3" in retrieved and "[Step 4]" in retrieved


async def test_without_retrieval_there_is_no_log(trial, script):
    files = await trial.work(Research(), {"main": script(*STORY[:1], END)})
    assert "research_log.log" not in files
    assert "## Reflection" not in prompts_of(trial)[0]


async def test_react_writes_one_thought(trial, script, tmp_path):
    thinks = 'Thought: Look.\nAction: List Files\nAction Input: {"dir_path": "."}'
    ends = 'Action: Final Answer\nAction Input: {"final_answer": "x"}'
    await trial.work(React(), {"main": script(thinks, ends, f"Thought: Enough.\n{ends}")})
    assert trial.actions() == [("List Files", None), ("Final Answer", None)]
    assert "Research Plan" not in prompts_of(trial)[0]
    assert 'It has no "Thought".' in prompts_of(trial)[2]


async def test_act_writes_no_thoughts(trial, script):
    ends = 'Action: Final Answer\nAction Input: {"final_answer": "x"}'
    await trial.work(Act(), {"main": script('Action: List Files\nAction Input: {"dir_path": "."}', ends)})
    assert trial.actions() == [("List Files", None), ("Final Answer", None)]
    assert "Thought" not in prompts_of(trial)[0]


def call(action, **arguments):
    """Return a tool call of the research agent's model."""
    thoughts = {"reflection": "Fine.", "research_plan_and_status": "1. **Go.**", "fact_check": "-", "thought": "Go."}
    return {"name": action, "arguments": {**thoughts, **arguments}}


async def test_a_complete_trial_with_tool_calls(trial, script, helpers):
    calls = [
        call("list_files", dir_path="."),
        call("understand_file", file_name="data/train.csv", things_to_look_for="a rule"),
        call("edit_script_ai", **EDIT),
        call("execute_script", script_name="train.py"),
        call("final_answer", final_answer="Solved."),
    ]
    roles = {"main": script(*[{"tool_calls": [each]} for each in calls]), **helpers}
    files = await trial.work(Research(protocol="tools"), roles)
    assert files["submission.csv"].splitlines()[:3] == [b"coin,side", b"30,1", b"31,0"]
    assert [name for name, _ in trial.actions()] == [
        "List Files", "Understand File", "Edit Script (AI)", "Execute Script", "Final Answer",
    ]  # fmt: skip
    prompt = prompts_of(trial)[4]
    assert "Research Plan and Status: 1. Go." in prompt and "accuracy 1.0" in prompt
    assert "# Actions" not in prompt


async def test_invalid_tool_calls_are_reported_to_the_model(trial, script):
    replies = [
        "I will look around.",
        "",
        {"tool_calls": [{"name": "list_files", "arguments": {"dir_path": "."}}]},
        {"tool_calls": [call("fly")]},
        {"tool_calls": [{"name": "list_files", "arguments": "{not json"}]},
        {"tool_calls": [call("list_files", dir_path="data"), call("list_files", dir_path=".")]},
        {"tool_calls": [call("final_answer", final_answer="x")]},
    ]
    await trial.work(Research(protocol="tools"), {"main": script(*replies)})
    assert trial.actions() == [
        ("fly", "arguments"), ("List Files", "format"), ("List Files", None), ("Final Answer", None),
    ]  # fmt: skip
    prompts = prompts_of(trial)
    assert "could not be used: It calls no tool." in prompts[1]
    assert "could not be used: It was empty." in prompts[2]
    assert "omits reflection, research_plan_and_status, fact_check, thought" in prompts[3]
    assert "There is no action called 'fly'" in prompts[4]
    assert "Only the first of your 2 calls was executed" in prompts[6]


async def test_arguments_that_cannot_be_serialized_take_a_step_but_do_not_end_the_trial(trial, script):
    half = {"file_name": "a", "content": "half of a smile: \ud83d"}
    said = [say("Write File", **half), say("Write File", file_name=float("nan"), content=""), END]
    files = await trial.work(Research(add_actions=("Write File",)), {"main": script(*said)})
    assert trial.actions() == [("Write File", "format"), ("Write File", "format"), ("Final Answer", None)]
    assert "cannot be serialized" in prompts_of(trial)[1]
    assert "\ud83d" not in "".join(prompts_of(trial))
    assert "a" not in files


async def test_odd_tool_arguments_take_a_step_but_do_not_end_the_trial(trial, script):
    odd = [call("write_file", file_name="a", content=number)["arguments"] for number in (float("nan"), float("inf"))]
    said = [
        *({"tool_calls": [{"name": "write_file", "arguments": json.dumps(arguments)}]} for arguments in odd),
        {"tool_calls": [call("write_file", file_name="b", content="half of a smile: \ud83d")]},
        {"tool_calls": [call("final_answer", final_answer="x")]},
    ]
    agent = Research(protocol="tools", add_actions=("Write File",))
    files = await trial.work(agent, {"main": script(*said)})
    faults = [("Write File", "arguments"), ("Write File", "arguments"), ("Write File", None), ("Final Answer", None)]
    assert trial.actions() == faults
    assert "a" not in files
    assert files["b"] == b"half of a smile: ?"


async def test_the_remaining_model_budget_is_stated(trial, script):
    trial.budget = Budget(time=600, steps=50, tokens=90_000, cost=2)
    await trial.work(Research(), {"main": script({"text": STORY[0], "usage": {"output_tokens": 1_000}}, END)})
    assert ", 90,000 tokens and 2 dollars left. What do you do next?" in prompts_of(trial)[0]
    assert ", 89,000 tokens and 2 dollars left. What do you do next?" in prompts_of(trial)[1]


async def test_request_help_is_offered_only_if_interactive(trial, script, tmp_path):
    replies = [say("Request Help", request="What is the rule?"), END]
    await trial.work(Research(interactive=True), {"main": script(*replies)}, terminal=tmp_path / "no-terminal")
    assert trial.actions() == [("Request Help", "refused"), ("Final Answer", None)]
    assert "## Request Help" in prompts_of(trial)[0]


async def test_a_custom_agent_can_override_templates(trial, script, tmp_path):
    (tmp_path / "step.md").write_text("Hurry up. $left $memory $steps")

    class Hurried(Research):
        """Has a prompt of its own."""

        templates = tmp_path

    await trial.work(Hurried(), {"main": script(END)})
    assert "Hurry up. You have 50 steps and " in prompts_of(trial)[0]
    assert "You are a careful machine learning researcher" in prompts_of(trial)[0]


@pytest.mark.parametrize("seed", range(3))
async def test_a_trial_interrupted_after_any_event_resumes_to_the_same_end(trial, tmp_path, seed):
    """Killed after any event, the trial resumes from its record to the same end, and repeats no request."""
    story = (*STORY[:2], say("Python REPL", command="open('made', 'a').write('x')"), *STORY[2:])
    brain = tmp_path / "story.py"
    brain.write_text(
        "from pathlib import Path\n"
        "from test_research import HEADS, story_of\n"
        "asked = Path(__file__).parent / 'asked'\n"
        "def answer(messages, tools):\n"
        "    text = messages[-1].text\n"
        "    with asked.open('a') as file: file.write('x')\n"
        "    if 'Edit the script' in text: return f'````\\n{HEADS}````'\n"
        "    if 'is part 1 of 1' in text: return 'Every third.'\n"
        "    return story_of(text)\n"
    )
    agent = Research(add_actions=("Python REPL",), retrieval=seed == 2)
    roles = {"main": f"scripted/{brain}:answer"}
    whole = await trial.work(agent, roles)
    acts, questions = trial.actions(), (tmp_path / "asked").read_text()
    lines = trial.events.read_bytes().splitlines(keepends=True)
    assert len(acts) == len(story)
    dice = random.Random(seed)
    for cut in sorted(dice.sample(range(1, len(lines)), 6)):
        trial.events.write_bytes(b"".join(lines[:cut]))
        replies = sum(b'"type":"model"' in line and b'"kind":"call_finished"' in line for line in lines[:cut])
        (tmp_path / "asked").write_text("")
        assert await trial.work(agent, roles) == whole
        assert len((tmp_path / "asked").read_text()) == len(questions) - replies
        assert not any(b'"restarted"' in line for line in trial.events.read_bytes().splitlines())


def story_of(text):
    """Return the next reply of the story, depending on the remaining steps."""
    story = (*STORY[:2], say("Python REPL", command="open('made', 'a').write('x')"), *STORY[2:])
    if text.startswith("A researcher has just taken one step"):
        return "Action: something."
    if "of a research log" in text:
        return "Nothing new."
    done = 50 - int(text.partition("You have ")[2].partition(" steps")[0])
    return story[done]


async def test_a_replay_that_diverges_from_the_record_is_detected(trial, script):
    await trial.work(Research(), {"main": script(*STORY[:1], END)})
    with pytest.raises(Diverged):
        await trial.work(Research(retrieval=True), {"main": script(), "fast": script(name="fast")})
