"""The Python session keeps its state and is paused between commands; the agent learns when it is lost."""

import anyio
import pytest
from action_driver import ActionDriver

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


async def test_variables_persist_between_commands(trial):
    async with trial.bench() as bench:
        do = ActionDriver(bench)
        assert await do("Python REPL", command="x = 20\ndef twice(n):\n    return 2 * n") == "(no output)"
        assert await do("Python REPL", command="print('now'); twice(x) + 2") == "now\n42"
        assert "NameError: name 'y' is not defined" in await do("Python REPL", command="y")
        assert do.last.cause is None
        assert await do("Python REPL", command="x") == "20"
        assert "SyntaxError" in await do("Python REPL", command="for")
        assert "the session continues" in await do("Python REPL", command="exit()")
        assert await do("Python REPL", command="x") == "20"


async def test_output_of_children_and_errors_appear_in_order(trial):
    code = "import os, sys\nprint('one', flush=True)\n_ = os.system('echo two; echo three >&2')\n"
    code += "print('four', file=sys.stderr)"
    async with trial.bench() as bench:
        assert await ActionDriver(bench)("Python REPL", command=code) == "one\ntwo\nthree\nfour"


async def test_the_session_and_its_children_are_paused_between_commands(trial):
    async with trial.bench() as bench:
        do = ActionDriver(bench)
        await do("Python REPL", command=SPAWN)
        before = (await trial.workspace())["ticks"]
        await do("Execute Script", script_name="train.py")
        assert (await trial.workspace())["ticks"] == before
        grow = f"while os.path.getsize('ticks') == {len(before)}:\n    pass"
        await do("Python REPL", command=grow)
        assert len((await trial.workspace())["ticks"]) > len(before)


async def test_a_fork_does_not_become_a_second_session(trial):
    async with trial.bench() as bench:
        do = ActionDriver(bench)
        await do("Python REPL", command="import os; pid = os.fork()\nif pid: _ = os.waitpid(pid, 0)")
        for number in range(3):
            assert await do("Python REPL", command=f"{number}") == str(number)


async def test_a_hanging_command_ends_the_session_and_its_output_is_shown(trial):
    async with trial.bench() as bench:
        do = ActionDriver(bench, session_seconds=10.0)
        await do("Python REPL", command="x = 1")
        observation = await do("Python REPL", command="print('begun')\nimport signal, time\nwhile True: time.sleep(1)")
        assert "was killed because it exceeded its time limit" in observation and observation.endswith("begun")
        assert do.last.cause == "time"
        assert "NameError" in await do("Python REPL", command="x")
        assert "interrupted" not in do.last.text


async def test_after_a_session_dies_the_next_command_starts_a_new_one(trial):
    async with trial.bench() as bench:
        do = ActionDriver(bench)
        observation = await do("Python REPL", command="import os; print('last words', flush=True); os._exit(3)")
        assert "The session has ended" in observation and "last words" in observation
        assert do.last.cause == "crash"
        assert await do("Python REPL", command="1 + 1") == "2"


async def test_endless_output_ends_the_session_and_is_cut(trial):
    async with trial.bench() as bench:
        do = ActionDriver(bench, session_seconds=300.0)
        observation = await do("Python REPL", command="while True: print('x' * 10_000)")
        assert "it printed too much" in observation
        assert do.last.cause == "output"
        assert len(observation) < 25_000


async def test_a_session_survives_closing_its_streams(trial):
    async with trial.bench() as bench:
        do = ActionDriver(bench)
        await do("Python REPL", command="import sys; sys.stdout = None; sys.stderr.close()")
        await do("Python REPL", command="open('there', 'w').close()")
        assert "there" in await trial.workspace()


async def test_a_resumed_trial_says_that_the_session_is_new(trial):
    async with trial.bench() as bench:
        do = ActionDriver(bench)
        await do("Python REPL", command="x = 1; open('made', 'w').close()")
        kept = len(trial.events.read_bytes())
        await do("Python REPL", command="x")
    with trial.events.open("r+b") as events:
        events.truncate(kept)
    async with trial.bench() as bench:
        do = ActionDriver(bench)
        assert await do("Python REPL", command="x = 1; open('made', 'w').close()") == "(no output)"
        observation = await do("Python REPL", command="x")
        assert observation.startswith("The previous session was interrupted; this is a new one, without its variables.")
        assert "NameError" in observation
        assert await do("Python REPL", command="2") == "2"
        assert "made" in await trial.workspace()


async def test_a_cancelled_command_no_longer_changes_the_workspace(trial):
    async with trial.bench() as bench:
        do = ActionDriver(bench)
        await do("Python REPL", command="x = 1")
        with anyio.move_on_after(1) as scope:
            await do("Python REPL", command="while True: open('y', 'a').write('y')")
        assert scope.cancelled_caught
        assert await trial.workspace() == await trial.workspace()
        assert "NameError" in await do("Python REPL", command="x")
