"""Actions that use a model: edits are complete or not made at all, and long texts are read in blocks."""

import pytest
from action_driver import ActionDriver

from assay.agents.mlagentbench.summaries import split_blocks

pytestmark = pytest.mark.anyio

FENCE = "````"


def fenced(code: str, before: str = "", after: str = "", fence: str = FENCE) -> str:
    return f"{before}{fence}python\n{code}{fence}\n{after}"


def edit(name="train.py", save="train.py", instruction="Guess heads."):
    return {"script_name": name, "edit_instruction": instruction, "save_name": save}


async def test_an_edit_is_written_shown_as_a_diff_and_can_be_undone(trial, script):
    roles = {
        "main": script(),
        "edit": script(fenced("print(2)\n", "Sure!\n", "Done."), fenced("print(3)\n"), name="edit"),
    }
    async with trial.bench(roles) as bench:
        do = ActionDriver(bench)
        await do("Write File", file_name="sub/a.py", content="print(1)\n")
        observed = await do("Edit Script (AI)", **edit("sub/a.py", "sub/a.py"))
        assert observed.endswith("--- sub/a.py\n+++ sub/a.py\n@@ -1 +1 @@\n-print(1)\n+print(2)\n")
        await do("Edit Script (AI)", **edit("sub/a.py", "sub/a.py"))
        assert (await trial.workspace())["sub/a.py"] == b"print(3)\n"
        for expected in (b"print(2)\n", b"print(1)\n"):
            assert expected.decode() in await do("Undo Edit Script", script_name="sub/a.py")
            assert (await trial.workspace())["sub/a.py"] == expected
        assert "There is no edit of 'sub/a.py' to undo" in await do("Undo Edit Script", script_name="sub/a.py")
    prompt = trial.calls("model")[0]["about"]["messages"][0]["text"]
    assert "Guess heads." in prompt and "print(1)" in prompt


async def test_undoing_the_edit_that_created_a_script_removes_it(trial, script):
    roles = {"main": script(fenced("new\n"))}
    async with trial.bench(roles) as bench:
        do = ActionDriver(bench)
        before = await trial.workspace()
        await do("Edit Script (AI)", **edit("new.py", "new.py"))
        assert (await trial.workspace())["new.py"] == b"new\n"
        assert "removed" in await do("Undo Edit Script", script_name="new.py")
        assert await trial.workspace() == before


async def test_an_unpaired_surrogate_in_an_edit_is_replaced(trial, script):
    async with trial.bench({"main": script(fenced("print('\ud83d')\n"))}) as bench:
        await ActionDriver(bench)("Edit Script (AI)", **edit())
        assert (await trial.workspace())["train.py"] == b"print('?')\n"


async def test_backups_of_files_with_similar_names_do_not_collide(trial, script):
    roles = {"main": script(*[fenced(f"{n}\n") for n in range(3)])}
    async with trial.bench(roles) as bench:
        do = ActionDriver(bench)
        for name in ("a.py", "a.py.1", "a"):
            await do("Write File", file_name=name, content=f"first {name}")
            await do("Edit Script (AI)", **edit(name, name))
        for name in ("a", "a.py", "a.py.1"):
            await do("Undo Edit Script", script_name=name)
            assert (await trial.workspace())[name] == f"first {name}".encode()


async def test_an_edit_saved_over_another_file_can_be_undone(trial, script):
    async with trial.bench({"main": script(fenced("new\n"))}) as bench:
        do = ActionDriver(bench)
        await do("Write File", file_name="other.py", content="precious")
        await do("Edit Script (AI)", **edit("train.py", "other.py"))
        assert (await trial.workspace())["other.py"] == b"new\n"
        await do("Undo Edit Script", script_name="other.py")
        assert (await trial.workspace())["other.py"] == b"precious"


async def test_under_the_published_rules_a_cut_off_edit_is_written(trial, script):
    cut_off = {"text": "Here it is:\n```python\nprint(1)\nprint(", "stop": "length"}
    async with trial.bench({"main": script(cut_off, "no code")}) as bench:
        do = ActionDriver(bench, published=True)
        edit = {"script_name": "train.py", "edit_instruction": "print", "save_name": "new.py"}
        assert (await do("Edit Script (AI)", **edit)).startswith("The edited file was saved to new.py.")
        assert (await trial.workspace())["new.py"] == b"print(1)\nprint("
        await do("Edit Script (AI)", **edit)
        assert do.last.cause == "format"


@pytest.mark.parametrize(
    ("reply", "cause"),
    [
        ({"text": fenced("print(1)\n"), "stop": "length"}, "too long"),
        ("````python\nprint(1)\n", "format"),
        ("I would rather not.", "format"),
        ("", "format"),
        (fenced("a\n", fence="```") + "and\n" + fenced("b\n", fence="```"), "format"),
        ({"error": "too long"}, "too long"),
        ({"error": "refused"}, "connection"),
    ],
)
async def test_a_failed_edit_changes_nothing(trial, script, reply, cause):
    async with trial.bench({"main": script(reply)}) as bench:
        do = ActionDriver(bench)
        before = await trial.workspace()
        await do("Edit Script (AI)", **edit())
        assert do.last.cause == cause
        assert await trial.workspace() == before


async def test_edited_code_may_contain_fences_and_observations(trial, script):
    code = 'text = """\n```python\nx\n```\nObservation: y\n"""\n'
    async with trial.bench({"main": script(fenced(code))}) as bench:
        await ActionDriver(bench)("Edit Script (AI)", **edit())
        assert (await trial.workspace())["train.py"] == code.encode()


async def test_a_binary_file_is_not_edited(trial, script):
    async with trial.bench({"main": script()}) as bench:
        do = ActionDriver(bench)
        await do("Python REPL", command="open('b', 'wb').write(b'\\xff\\xfe')")
        assert await do("Edit Script (AI)", **edit("b", "b")) == "'b' is not a text file and cannot be edited."


@pytest.mark.parametrize(
    ("first", "last", "new", "result", "diff"),
    [
        (1, 1, "A\n", "A\nb\nc", "@@ -1,3 +1,3 @@\n-a\n+A\n b\n c\n\\ No newline at end of file\n"),
        (2, 2, "B\nB\n", "a\nB\nB\nc", "@@ -1,3 +1,4 @@\n a\n-b\n+B\n+B\n c\n\\ No newline at end of file\n"),
        (
            2,
            9,
            "C\n",
            "a\nC",
            "@@ -1,3 +1,2 @@\n a\n-b\n-c\n\\ No newline at end of file\n+C\n\\ No newline at end of file\n",
        ),
        (1, 2, "", "c", "@@ -1,3 +1 @@\n-a\n-b\n c\n\\ No newline at end of file\n"),
    ],
)
async def test_a_segment_is_replaced_and_the_diff_covers_the_whole_file(trial, script, first, last, new, result, diff):
    async with trial.bench({"main": script(fenced(new))}) as bench:
        do = ActionDriver(bench)
        await do("Write File", file_name="s.py", content="a\nb\nc")
        words = {**edit("s.py", "s.py"), "start_line_number": first, "end_line_number": last}
        observed = await do("Edit Script Segment (AI)", **words)
        assert (await trial.workspace())["s.py"] == result.encode()
        assert observed.endswith(diff)
        await do("Undo Edit Script", script_name="s.py")
        assert (await trial.workspace())["s.py"] == b"a\nb\nc"


async def test_a_long_file_is_read_in_blocks_with_correct_positions(trial, script):
    text = "".join(f"{n:04d} {'x' * 94}\n" for n in range(250))  # 100 characters a line
    replies = ["one", "two", "three", "all of it"]
    async with trial.bench({"main": script(), "fast": script(*replies, name="fast")}) as bench:
        do = ActionDriver(bench)
        await do("Write File", file_name="long.txt", content=text)
        assert await do("Understand File", file_name="long.txt", things_to_look_for="the zebra") == "all of it"
    prompts = [ask["about"]["messages"][0]["text"] for ask in trial.calls("model")]
    # at most 99 lines stay below 10,000 characters
    for prompt, where in zip(prompts, ["1 to 9,900", "9,901 to 19,800", "19,801 to 25,000"], strict=False):
        assert f"{where} of 25,000" in prompt and "the zebra" in prompt
    assert "0000 " in prompts[0] and "0099 " in prompts[1] and "0249 " in prompts[2]
    assert all(part in prompts[3] for part in ("Part 1:\none", "Part 2:\ntwo", "Part 3:\nthree"))


def test_blocks_cover_the_whole_text_and_stay_below_the_max_size():
    for text in ("", "a", "a\n" * 30, "x" * 35 + "\nshort\n" + "y" * 19, "123456789\n" * 4):
        parts = split_blocks(text, 10)
        assert "".join(part.text for part in parts) == text
        assert all(len(part.text) < 10 and text[part.start : part.end] == part.text for part in parts)
    assert [part.text for part in split_blocks("12345678\n1\n2\n", 10)] == ["12345678\n", "1\n2\n"]


async def test_a_short_data_file_takes_one_request(trial, script):
    async with trial.bench({"main": script("Thirty coins.")}) as bench:
        observed = await ActionDriver(bench)("Understand File", file_name="data/train.csv", things_to_look_for=["rows"])
    assert observed == "Thirty coins."
    asked = trial.calls("model")[0]["about"]["messages"][0]["text"]
    assert "coin,side\n0,1" in asked and "['rows']" in asked


async def test_an_unavailable_model_fails_the_action_but_not_the_trial(trial, script):
    async with trial.bench({"main": script({"error": "refused"})}) as bench:
        do = ActionDriver(bench)
        await do("Understand File", file_name="train.py", things_to_look_for="x")
        assert do.last.cause == "connection"
        assert "train.py" in await do("List Files", dir_path=".")


async def test_the_research_log_can_be_extended_retrieved_and_reflected_on(trial, script):
    async with trial.bench({"main": script("Look at the log.", "Try again.")}) as bench:
        do = ActionDriver(bench)
        assert await do("Reflection", things_to_reflect_on="progress") == "The research log is empty."
        await do("Append Summary to Research Log", content="Tried a tree: 0.7.")
        assert await do("Retrieval from Research Log", current_plan="try a forest") == "Look at the log."
        assert await do("Reflection", things_to_reflect_on=["progress", "what is left"]) == "Try again."
        assert (await trial.workspace())["research_log.log"] == b"Tried a tree: 0.7.\n\n"
    retrieved, reflected = (ask["about"]["messages"][0]["text"] for ask in trial.calls("model"))
    assert "try a forest" in retrieved and "Tried a tree: 0.7." in retrieved
    assert "['progress', 'what is left']" in reflected and "Tried a tree: 0.7." in reflected
