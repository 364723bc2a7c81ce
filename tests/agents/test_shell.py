"""Complete trials of the shell agent with scripted models, in a sealed lab."""

import pytest

from assay.agents.shell import Shell
from assay.tasks import Budget

pytestmark = pytest.mark.anyio

WRITE = """python - <<'END'
import csv
with open("data/test.csv") as test, open("submission.csv", "w") as out:
    out.write("coin,side\\n")
    for row in csv.DictReader(test):
        out.write(f"{row['coin']},{int(int(row['coin']) % 3 == 0)}\\n")
END"""


def call(command, **more):
    """Return a reply that calls the tool."""
    return {"text": "Next.", "tool_calls": [{"name": "bash", "arguments": {"command": command, **more}}]}


def text(command, seconds=""):
    """Return the same reply as text."""
    return f"Next.\n\n```bash {seconds}\n{command}\n```"


def observations(trial):
    return [act["observation"] for act in trial.calls("action")]


def last_view(trial):
    """Return the conversation of the last request."""
    return [message.get("text", "") for message in trial.calls("model")[-1]["about"]["messages"]]


@pytest.mark.parametrize(("protocol", "say"), [("tools", call), ("text", text)])
async def test_a_complete_trial_up_to_submit(trial, script, protocol, say):
    story = [say("ls; head -n 2 data/train.csv"), say(WRITE), say("validate"), say("submit")]
    files = await trial.work(Shell(protocol=protocol), {"main": script(*story)})
    assert files["submission.csv"].splitlines()[:3] == [b"coin,side", b"30,1", b"31,0"]
    looked, wrote, checked, ended = observations(trial)
    assert looked.startswith("Exit code 0 after ") and "description.md" in looked and "coin,side" in looked
    assert "(no output)" in wrote
    assert checked.startswith("The format of the submission is valid.")
    assert ended == "The work has ended."
    assert trial.calls("action")[-1]["used"]["steps"] == 4
    view = last_view(trial)
    assert "Guess which side of each coin is up." in view[1]
    assert looked in view[3], "the whole conversation stays in context"
    assert "(You have 47 steps and " in view[-1]


async def test_exit_codes_and_both_streams_are_shown_in_order(trial, script):
    story = [
        call("echo one; echo two >&2; echo three; exit 7"),
        call("cd data; x=1"),
        call("pwd; echo [$x]"),
        call("submit"),
    ]
    await trial.work(Shell(), {"main": script(*story)})
    first, _, third, _ = observations(trial)
    assert first.startswith("Exit code 7 after ") and first.endswith("one\ntwo\nthree")
    assert third.endswith("/workspace\n[]"), "each command runs in a new shell"


async def test_several_calls_in_one_reply_take_one_step_each(trial, script):
    two = {"tool_calls": [*call("echo a > a")["tool_calls"], *call("cat a")["tool_calls"]]}
    await trial.work(Shell(), {"main": script(two, call("submit"))})
    assert [act["arguments"]["command"] for act in trial.calls("action")] == ["echo a > a", "cat a", "submit"]
    assert observations(trial)[1].endswith("\n\na")


async def test_a_command_gets_a_share_of_the_time_or_its_own_limit(trial, script):
    trial.budget = Budget(time=400, steps=50)
    await trial.work(Shell(share=0.5), {"main": script(call("true"), call("true", seconds=7), call("submit"))})
    usual, asked = [run["about"]["seconds"] for run in trial.calls("command")]
    assert 150 < usual <= 200
    assert asked == 7


async def test_a_hundred_megabytes_of_output_are_cut(trial, script):
    flood = "echo begin; yes 0123456789 | head -c 100000000; echo end"
    await trial.work(Shell(), {"main": script(call(flood), call("echo still here"), call("submit"))})
    flooded, after, _ = observations(trial)
    assert "it was killed because it printed too much" in flooded and "omitted" in flooded
    assert "begin" in flooded and len(flooded) < 10_500
    assert trial.calls("action")[0]["cause"] == "output"
    assert after.endswith("still here")


async def test_a_deleted_workspace_is_usable_and_submits_nothing(trial, script):
    story = [
        call(WRITE),
        call("rm -rf /workspace /workspace/* .[a-z]*"),
        call("ls; ls data"),
        call("validate"),
        call("submit"),
    ]
    files = await trial.work(Shell(), {"main": script(*story)})
    assert files == {}
    _, _, looked, checked, _ = observations(trial)
    assert looked.endswith("data\ntest.csv\ntrain.csv"), "the data is read-only and still there"
    assert checked == "The submission is invalid: nothing was submitted: 'submission.csv' does not exist."


async def test_three_consecutive_unreadable_replies_end_the_trial(trial, script):
    wrong = {"tool_calls": [{"name": "python", "arguments": {"command": "1"}}]}
    broken = {"tool_calls": [{"name": "bash", "arguments": "{oops"}]}
    empty = {"tool_calls": [{"name": "bash", "arguments": {}}]}
    story = ["I think.", wrong, call("true"), broken, empty, "Well."]
    await trial.work(Shell(), {"main": script(*story)})
    assert len(trial.calls("action")) == 1
    notes = [(note["topic"], note["about"]["reason"]) for note in trial.calls("note")]
    assert [what for what, _ in notes] == ["unreadable reply"] * 5 + ["gave up"]
    assert notes[0][1] == "It does not call the tool `bash`."
    assert notes[1][1] == "There is no tool 'python'; the only tool is `bash`."
    assert "could not be used, and nothing was run" in last_view(trial)[-1]


@pytest.mark.parametrize("answer", ["```bash\nls\n```\n```bash\nls\n```", "```python\n1\n```", text("ls", "soon")])
async def test_a_text_reply_needs_exactly_one_block_and_a_numeric_limit(trial, script, answer):
    await trial.work(Shell(protocol="text", max_format_errors=1), {"main": script(answer)})
    assert not trial.calls("action") and trial.calls("note")[-1]["topic"] == "gave up"


async def test_an_overlong_command_is_refused(trial, script):
    await trial.work(Shell(max_format_errors=1), {"main": script(call("#" * 200_000))})
    assert "split it into several" in trial.calls("note")[0]["about"]["reason"]


async def test_a_conversation_that_is_too_long_loses_its_oldest_output_first(trial, script):
    long = call("yes | head -c 5000")
    story = [long, long, {"error": "too long"}, call("submit")]
    await trial.work(Shell(), {"main": script(*story)})
    view = last_view(trial)
    assert len(view[3]) < 400 and len(view[5]) > 5000
    assert trial.actions()[-1] == ("bash", None)


async def test_a_conversation_that_never_fits_ends_the_trial(trial, script):
    await trial.work(Shell(), {"main": script({"error": "too long"})})
    assert trial.calls("note")[-1]["about"]["cause"] == "too long"


async def test_files_persist_when_time_runs_out_during_a_command(trial, script):
    trial.budget = Budget(time=15, steps=50)
    story = [call("echo kept > kept"), call("echo begun > begun; sleep 1000", seconds=900), call("echo never > never")]
    files = await trial.work(Shell(), {"main": script(*story)})
    assert files["begun"] == b"begun\n" and files["kept"] == b"kept\n" and "never" not in files
    assert trial.calls("action")[1]["cause"] == "time"


@pytest.mark.parametrize("limit", [{"steps": 2}, {"tokens": 90_000}])
async def test_the_trial_ends_when_steps_or_tokens_run_out(trial, script, limit):
    trial.budget = Budget(**{"time": 600, "steps": 50} | limit)
    await trial.work(Shell(), {"main": script(*[call("true") | {"usage": {"input_tokens": 50_000}}] * 9)})
    # The second reply spends the last tokens, so what it asks for is not done any more.
    assert len(trial.calls("action")) == limit.get("steps", 1)
    assert len(trial.calls("model")) == limit.get("steps", 1) + 1


async def test_a_resumed_trial_repeats_no_request(trial, script):
    story = [call("echo x >> visits"), call("cat visits"), call("submit")]
    await trial.work(Shell(), {"main": script(*story)})
    whole, asked = observations(trial), len(trial.calls("model"))
    lines = trial.events.read_bytes().splitlines(keepends=True)
    snapshot = next(index for index, line in enumerate(lines) if b'"kind":"snapshot_taken"' in line)
    trial.events.write_bytes(b"".join(lines[: snapshot + 1]))
    files = await trial.work(Shell(), {"main": script(*story)})
    assert files["visits"] == b"x\n"
    assert [observation.partition("\n")[2] for observation in observations(trial)] == [
        observation.partition("\n")[2] for observation in whole
    ]
    assert len(trial.calls("model")) == asked


def test_assay_run_solves_a_task_and_counts_validations(tiny, script):
    story = [call("validate"), call("python train.py"), call("validate"), call("submit")]
    done = tiny.call(*tiny.run_words("shell"), "--model", script(*story))
    assert done.returncode == 0, done.stderr
    (trial,) = tiny.folder.trials()
    assert trial.grade is not None and trial.grade.valid_submission and trial.grade.sealed
    assert (trial.state.status, trial.state.steps, trial.state.validations) == ("done", 4, 2)


def test_a_trial_without_a_submission_is_an_agent_failure(tiny, script):
    done = tiny.call(*tiny.run_words("shell,protocol=text"), "--model", script(text("submit")))
    assert done.returncode == 0, done.stderr
    (trial,) = tiny.folder.trials()
    assert (trial.state.status, trial.state.cause) == ("failed", "agent")
