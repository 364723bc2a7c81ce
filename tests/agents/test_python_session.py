"""The Python session keeps its state, holds still between commands, and is told of when it is gone."""

import anyio
import pytest
from hands import Hands

pytestmark = pytest.mark.anyio

SPAWN = """
import os
if os.fork() == 0:
    with open("ticks", "a") as file:
        while True:
            file.write("x")
            file.flush()
while not os.path.exists("ticks") or not os.path.getsize("ticks"):
    pass
"""


async def test_variables_stay_from_one_command_to_the_next(trial):
    async with trial.bench() as bench:
        do = Hands(bench)
        assert await do("Python REPL", command="x = 20\ndef twice(n):\n    return 2 * n") == "(no output)"
        assert await do("Python REPL", command="print('now'); twice(x) + 2") == "now\n42"
        assert "NameError: name 'y' is not defined" in await do("Python REPL", command="y")
        assert do.last.cause is None
        assert await do("Python REPL", command="x") == "20"
        assert "SyntaxError" in await do("Python REPL", command="for")
        assert "the session goes on" in await do("Python REPL", command="exit()")
        assert await do("Python REPL", command="x") == "20"


async def test_what_children_print_and_errors_are_in_order(trial):
    code = "import os, sys\nprint('one', flush=True)\n_ = os.system('echo two; echo three >&2')\n"
    code += "print('four', file=sys.stderr)"
    async with trial.bench() as bench:
        assert await Hands(bench)("Python REPL", command=code) == "one\ntwo\nthree\nfour"


async def test_between_commands_nothing_moves_not_even_what_the_session_started(trial):
    async with trial.bench() as bench:
        do = Hands(bench)
        await do("Python REPL", command=SPAWN)
        before = (await trial.workspace())["ticks"]
        await do("Execute Script", script_name="train.py")
        assert (await trial.workspace())["ticks"] == before
        grow = f"while os.path.getsize('ticks') == {len(before)}:\n    pass"
        await do("Python REPL", command=grow)
        assert len((await trial.workspace())["ticks"]) > len(before)


async def test_a_fork_that_comes_to_its_end_is_no_second_session(trial):
    async with trial.bench() as bench:
        do = Hands(bench)
        await do("Python REPL", command="import os; pid = os.fork()\nif pid: _ = os.waitpid(pid, 0)")
        for number in range(3):
            assert await do("Python REPL", command=f"{number}") == str(number)


async def test_a_command_that_hangs_is_ended_with_its_session_and_what_it_printed_is_told(trial):
    async with trial.bench() as bench:
        do = Hands(bench, session_seconds=2.0)
        await do("Python REPL", command="x = 1")
        told = await do("Python REPL", command="print('begun')\nimport signal, time\nwhile True: time.sleep(1)")
        assert "was killed because it exceeded its time limit" in told and told.endswith("begun")
        assert do.last.cause == "time"
        assert "NameError" in await do("Python REPL", command="x")
        assert "interrupted" not in do.last.text


async def test_a_session_that_dies_is_told_and_the_next_command_begins_a_new_one(trial):
    async with trial.bench() as bench:
        do = Hands(bench)
        told = await do("Python REPL", command="import os; print('last words', flush=True); os._exit(3)")
        assert "The session has ended" in told and "last words" in told
        assert do.last.cause == "crash"
        assert await do("Python REPL", command="1 + 1") == "2"


async def test_endless_output_ends_the_session_and_is_shortened(trial):
    async with trial.bench() as bench:
        do = Hands(bench, session_seconds=300.0)
        told = await do("Python REPL", command="while True: print('x' * 10_000)")
        assert "it printed too much" in told
        assert do.last.cause == "output"
        assert len(told) < 25_000


async def test_a_session_that_closes_its_streams_goes_on(trial):
    async with trial.bench() as bench:
        do = Hands(bench)
        await do("Python REPL", command="import sys; sys.stdout = None; sys.stderr.close()")
        await do("Python REPL", command="open('there', 'w').close()")
        assert "there" in await trial.workspace()


async def test_a_resumed_trial_says_that_the_session_is_new(trial):
    async with trial.bench() as bench:
        do = Hands(bench)
        await do("Python REPL", command="x = 1; open('made', 'w').close()")
        kept = len(trial.events.read_bytes())
        await do("Python REPL", command="x")
    with trial.events.open("r+b") as events:
        events.truncate(kept)
    async with trial.bench() as bench:
        do = Hands(bench)
        assert await do("Python REPL", command="x = 1; open('made', 'w').close()") == "(no output)"
        told = await do("Python REPL", command="x")
        assert told.startswith("The previous session was interrupted; this is a new one, without its variables.")
        assert "NameError" in told
        assert await do("Python REPL", command="2") == "2"
        assert "made" in await trial.workspace()


async def test_a_command_that_is_cancelled_leaves_the_workspace_at_rest(trial):
    async with trial.bench() as bench:
        do = Hands(bench)
        await do("Python REPL", command="x = 1")
        with anyio.move_on_after(1) as scope:
            await do("Python REPL", command="while True: open('y', 'a').write('y')")
        assert scope.cancelled_caught
        assert await trial.workspace() == await trial.workspace()
        assert "NameError" in await do("Python REPL", command="x")
