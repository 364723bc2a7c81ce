"""The published actions in a sealed lab."""

import os
import threading
from pathlib import Path

import pytest
from action_driver import ActionDriver

from assay.agents.mlagentbench.actions import ACTIONS, find_action
from assay.records import read_events
from assay.tasks import Budget

pytestmark = pytest.mark.anyio


def test_all_published_actions_exist_with_their_published_arguments():
    usage = {name: list(action.usage()) for name, action in ACTIONS.items()}
    assert usage == {
        "List Files": ["dir_path"],
        "Read File": ["file_name"],
        "Write File": ["file_name", "content"],
        "Append File": ["file_name", "content"],
        "Copy File": ["source", "destination"],
        "Inspect Script Lines": ["script_name", "start_line_number", "end_line_number"],
        "Undo Edit Script": ["script_name"],
        "Execute Script": ["script_name"],
        "Python REPL": ["command"],
        "Understand File": ["file_name", "things_to_look_for"],
        "Edit Script (AI)": ["script_name", "edit_instruction", "save_name"],
        "Edit Script Segment (AI)": [
            "script_name", "start_line_number", "end_line_number", "edit_instruction", "save_name",
        ],
        "Reflection": ["things_to_reflect_on"],
        "Append Summary to Research Log": ["content"],
        "Retrieval from Research Log": ["current_plan"],
        "Request Help": ["request"],
        "Validate Submission": [],
        "Offer Submission": [],
        "Final Answer": ["final_answer"],
    }  # fmt: skip
    assert all(action.description.endswith(".") and all(action.usage().values()) for action in ACTIONS.values())


def test_action_names_match_regardless_of_case_and_punctuation():
    offered = list(ACTIONS.values())
    for name in ("Edit Script (AI)", "edit script (ai)", "edit_script_ai", "Edit Script AI"):
        assert find_action(name, offered) is ACTIONS["Edit Script (AI)"]
    assert find_action("Edit", offered) is None


async def test_published_observations_have_the_published_structure(trial):
    async with trial.bench() as bench:
        do = ActionDriver(bench, published=True)
        await bench.execute(["ln", "-s", "data/train.csv", "train.csv"])
        assert "\ntrain.csv\n" in await do("List Files", dir_path=".")
        await do("Write File", file_name="say.py", content="import sys\nprint('a')\nprint('b', file=sys.stderr)\n")
        observed = await do("Inspect Script Lines", script_name="say.py", start_line_number=2, end_line_number=90)
        assert observed.endswith(" 3):\n\nprint('a')\nprint('b', file=sys.stderr)\n")
        observed = await do("Inspect Script Lines", script_name="say.py", start_line_number=50, end_line_number=60)
        assert observed.endswith(" 3):\n\n")
        assert (await do("Execute Script", script_name="say.py")).endswith(":\n\na\n")
        await do("Write File", file_name="fail.py", content="print('a')\n1 / 0\n")
        observed = await do("Execute Script", script_name="fail.py")
        assert observed.startswith("The script was executed.") and "ZeroDivisionError" in observed
        assert do.last.cause == "crash"


async def test_files_can_be_listed_read_written_and_copied(trial):
    async with trial.bench() as bench:
        do = ActionDriver(bench)
        for workspace in (".", ""):
            assert await do("List Files", dir_path=workspace) == "data/\ndescription.md\ntrain.py\n"
        assert await do("List Files", dir_path="data") == "test.csv\ntrain.csv\n"
        assert "Guess which side" in await do("Read File", file_name="description.md")
        assert (await do("Read File", file_name="data/train.csv")).startswith("coin,side\n0,1\n1,0\n")
        assert await do("Write File", file_name="sub/new.txt", content="a\n") == "Wrote 2 bytes to sub/new.txt."
        assert "4 bytes" in await do("Append File", file_name="sub/new.txt", content="b\n")
        assert (
            await do("Append File", file_name="fresh.txt", content="c")
            == "Appended 1 bytes to fresh.txt, which now has 1 bytes."
        )
        assert "Copied" in await do("Copy File", source="data/test.csv", destination="sub/mine.csv")
        files = await trial.workspace()
    assert files["sub/new.txt"] == b"a\nb\n"
    assert files["sub/mine.csv"].startswith(b"coin\n30\n")
    assert trial.actions() == [(name, None) for name in (
        "List Files", "List Files", "List Files", "Read File", "Read File", "Write File", "Append File", "Append File",
        "Copy File",
    )]  # fmt: skip


async def test_every_action_takes_one_step_and_is_recorded_completely(trial):
    async with trial.bench() as bench:
        do = ActionDriver(bench)
        await do("Write File", file_name="a.py", content="print(1)")
        await do("Execute Script", script_name="a.py")
        await do("No Such Thing", x="y")
        assert bench.clock.steps == 3
    write, execute, unknown = trial.calls("action")
    assert (write["name"], write["arguments"]) == ("Write File", {"file_name": "a.py", "content": "print(1)"})
    assert "stdout:\n1" in execute["observation"]
    assert 0 < execute["seconds"] < 60
    assert (unknown["cause"], unknown["about"]["step"]) == ("arguments", 3)
    assert "There is no action called 'No Such Thing'. Choose from: List Files, " in unknown["observation"]


async def test_every_action_ends_with_a_snapshot_that_is_new_only_if_files_may_have_changed(trial):
    async with trial.bench() as bench:
        do = ActionDriver(bench)
        await do("List Files", dir_path=".")
        await do("Write File", file_name="a", content="")
        await do("Read File", file_name="a")
    kept = [event for event in read_events(trial.events) if event.kind == "snapshot_taken"]
    assert [each.step for each in kept] == [1, 2, 3]
    assert kept[0].snapshot != kept[1].snapshot == kept[2].snapshot


@pytest.mark.parametrize("path", ["data/x", "./data/x", "sub/../data/x", "/workspace/data/x", "data"])
async def test_data_is_read_only_however_the_path_is_spelled(trial, path):
    async with trial.bench() as bench:
        do = ActionDriver(bench)
        for name, words in (
            ("Write File", {"file_name": path, "content": ""}),
            ("Append File", {"file_name": path, "content": ""}),
            ("Copy File", {"source": "train.py", "destination": path}),
            ("Undo Edit Script", {"script_name": path}),
        ):
            assert "is in the data folder, which is read-only" in await do(name, **words)
            assert do.last.cause == "refused"
        await do("Python REPL", command="open('data/train.csv', 'w')")
        assert "Read-only file system" in do.last.text


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "/workspace-secret/answers.csv", "a/../../x", " ", "a\0b"])
async def test_paths_outside_the_workspace_are_refused(trial, path):
    async with trial.bench() as bench:
        do = ActionDriver(bench)
        for name, words in (
            ("Read File", {"file_name": path}),
            ("List Files", {"dir_path": path}),
            ("Write File", {"file_name": path, "content": ""}),
            ("Copy File", {"source": path, "destination": "x"}),
            ("Execute Script", {"script_name": path}),
            ("Inspect Script Lines", {"script_name": path, "start_line_number": 1, "end_line_number": 2}),
        ):
            assert "outside the workspace" in await do(name, **words) or "is not a path" in do.last.text
            assert do.last.cause == "refused"


async def test_links_are_not_followed(trial):
    async with trial.bench() as bench:
        do = ActionDriver(bench)
        await do("Python REPL", command="import os; os.symlink('/etc/passwd', 'link'); os.symlink('/etc', 'etc')")
        assert await do("Read File", file_name="link") == "'link' is a link."
        assert await do("Read File", file_name="etc/passwd") == "'etc/passwd' is not reached through plain folders."
        assert "no regular file" in await do("Execute Script", script_name="link")


async def test_wrong_arguments_are_named_together_with_the_usage(trial):
    async with trial.bench() as bench:
        do = ActionDriver(bench)
        observed = await do("Inspect Script Lines", script_name=["a"], start_line_number="one", colour="red")
        for fault in (
            "'end_line_number' is missing",
            "there is no argument 'colour'",
            "'script_name' must be a string, not ['a']",
            "'start_line_number' must be an integer, not 'one'",
            "Usage: script_name: the file to inspect",
        ):
            assert fault in observed
        assert do.last.cause == "arguments"
        observation = await do("Inspect Script Lines", script_name="train.py", start_line_number="1", end_line_number=1)
        assert observation.endswith('1  """Guesses tails for every coin."""\n')


async def test_overlong_names_and_numbers_are_refused(trial):
    async with trial.bench() as bench:
        do = ActionDriver(bench)
        for name in ("a" * 300, "名" * 100, f"sub/{'a' * 300}/b"):
            await do("Write File", file_name=name, content="x")
            assert "too long" in do.last.text and do.last.cause == "refused"
        lines = {"script_name": "train.py", "start_line_number": 1, "end_line_number": "9" * 5_000}
        assert "'end_line_number' must be an integer" in await do("Inspect Script Lines", **lines)
        assert set(await trial.workspace()) == {"description.md", "train.py"}


async def test_inspected_lines_are_numbered_and_limited_to_a_hundred(trial):
    async with trial.bench() as bench:
        do = ActionDriver(bench)
        await do("Write File", file_name="long.py", content="".join(f"line {n}\n" for n in range(1, 251)))
        lines = {"script_name": "long.py", "start_line_number": 99, "end_line_number": 101}
        observation = await do("Inspect Script Lines", **lines)
        assert observation == ("Lines 99 to 101 of 250 in long.py:\n\n 99  line 99\n100  line 100\n101  line 101\n")
        for first, last, observed in (
            (151, 250, "Lines 151 to 250"),
            (240, 300, "Lines 240 to 250"),
            (1, 101, "That is 101 lines"),
        ):
            words = {"script_name": "long.py", "start_line_number": first, "end_line_number": last}
            assert observed in await do("Inspect Script Lines", **words)
        for wrong in (
            {"start_line_number": 0},
            {"end_line_number": 98},
            {"start_line_number": 251, "end_line_number": 260},
        ):
            assert "There are no lines" in await do("Inspect Script Lines", **lines | wrong)


async def test_a_script_shows_stdout_and_stderr_whether_or_not_it_fails(trial):
    code = "import sys\nprint('loss 0.5')\nprint('careful', file=sys.stderr)\n"
    async with trial.bench() as bench:
        do = ActionDriver(bench)
        await do("Write File", file_name="a b.py", content=code)
        observed = await do("Execute Script", script_name="a b.py")
        assert observed.startswith("a b.py succeeded after ")
        assert "stdout:\nloss 0.5\n\nstderr:\ncareful" in observed
        await do("Write File", file_name="bad.py", content=f"{code}raise ValueError('no')")
        observed = await do("Execute Script", script_name="./bad.py")
        assert "failed with exit code 1" in observed and "loss 0.5" in observed and "ValueError: no" in observed
        assert do.last.cause == "crash"


async def test_the_name_of_a_script_is_never_interpreted_by_a_shell(trial):
    name = "c.py; echo pwned > pwn"
    async with trial.bench() as bench:
        do = ActionDriver(bench)
        for script in (name, "-c.py", "$(id).py"):
            await do("Write File", file_name=script, content="print('ran')")
            assert "stdout:\nran" in await do("Execute Script", script_name=script)
        assert "pwn" not in await trial.workspace()
        assert "no regular file" in await do("Execute Script", script_name="absent.py")
        assert "no regular file" in await do("Execute Script", script_name=".")


async def test_a_script_is_killed_at_its_time_limit_and_its_output_is_shown(trial):
    async with trial.bench() as bench:
        do = ActionDriver(bench, script_seconds=10.0)
        code = "import time\nprint('begun')\ntime.sleep(1000)"
        await do("Write File", file_name="a.py", content=code)
        observed = await do("Execute Script", script_name="a.py")
        assert "was killed because it exceeded its time limit" in observed and "begun" in observed
        assert do.last.cause == "time"


async def test_a_script_never_runs_past_the_deadline_of_the_trial(trial):
    trial.budget = Budget(time=10, steps=50)
    async with trial.bench() as bench:
        do = ActionDriver(bench, script_seconds=1000.0)
        await do("Write File", file_name="a.py", content="import time\ntime.sleep(1000)")
        assert "it exceeded its time limit" in await do("Execute Script", script_name="a.py")


async def test_running_out_of_memory_is_a_failure_cause(trial):
    async with trial.bench() as bench:
        do = ActionDriver(bench)
        await do("Write File", file_name="a.py", content="x = bytearray(10**15)")
        await do("Execute Script", script_name="a.py")
        assert do.last.cause == "memory"


async def test_long_output_is_cut_in_the_middle(trial):
    async with trial.bench() as bench:
        do = ActionDriver(bench, max_output=2_000)
        await do("Write File", file_name="a.py", content="print('first'); print('x' * 500_000); print('last')")
        observed = await do("Execute Script", script_name="a.py")
        assert "first" in observed and observed.endswith("last")
        assert "characters omitted" in observed and len(observed) < 2_500
        await do("Write File", file_name="long", content="a" * 50_000 + "z")
        assert len(await do("Read File", file_name="long")) < 2_500 and do.last.text.endswith("z")


async def test_request_help_asks_the_person_at_the_terminal(trial):
    person, terminal = os.openpty()

    def answer():
        observed = b""
        while not observed.endswith(b"Your answer: "):
            observed += os.read(person, 1000)
        os.write(person, b"try 42\n")
        heard.append(observed)

    heard = []
    thread = threading.Thread(target=answer)
    thread.start()
    async with trial.bench(terminal=Path(os.ttyname(terminal))) as bench:
        do = ActionDriver(bench)
        assert await do("Request Help", request="What seed?") == "try 42"
    thread.join()
    assert b"What seed?" in heard[0]
    os.close(person)
    os.close(terminal)


async def test_request_help_is_refused_without_a_terminal(trial, tmp_path):
    async with trial.bench(terminal=tmp_path / "none") as bench:
        do = ActionDriver(bench)
        assert await do("Request Help", request="Help!") == "No one is available to help."
        assert do.last.cause == "refused"
