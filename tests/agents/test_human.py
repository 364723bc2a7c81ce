"""A person at a terminal in a sealed lab: a real shell, timed, monitored and graded like any other agent."""

import os
import pty
import sys
from contextlib import suppress
from pathlib import Path

import anyio
import pytest
from anyio.lowlevel import checkpoint
from person import Person

from assay.agents.human import Human
from assay.core.errors import LabError
from assay.lab.snapshots import load_snapshot
from assay.records import OutOfBudget, RunFolder, read_events
from assay.tasks import Budget
from tiny_run import check_verified, prepare_tiny

pytestmark = pytest.mark.anyio

TESTS = Path(__file__).parent.parent


@pytest.fixture
def person():
    human = Person()
    yield human
    human.close()


async def work(trial, person, act, agent=None):
    """Let the person act at the terminal; return the content of the workspace at the end."""
    async with trial.bench(terminal=person.terminal) as bench:
        fault = None
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(act)
            try:
                await (agent or Human()).work(bench)
            except (OutOfBudget, LabError) as error:
                fault = error
        if isinstance(fault, LabError):
            raise fault
        return await trial.workspace()


def end_reasons(trial):
    return [period["reason"] for period in trial.calls("human_period")]


async def wait_for_snapshots(trial, number):
    """Wait until the record contains that many snapshots."""
    while sum(event.kind == "snapshot_taken" for event in read_events(trial.events)) < number:
        await checkpoint()


async def test_a_person_can_read_the_task_work_validate_and_submit(trial, person):
    async def act():
        await person.sees("Guess which side of each coin is up.")
        await person.does("validate; echo code $?", then="'submission.csv' does not exist")
        await person.sees("code 1")
        await person.does("python train.py && wc -l submission.csv", then="31 submission.csv")
        await person.does("validate; echo code $?", then="The format of the submission is valid.")
        await person.sees("code 0")
        await person.does("time-left", then=" left")
        await person.does("submit", then="Your work has been submitted.")

    files = await work(trial, person, act)
    assert len(files["submission.csv"].splitlines()) == 31
    assert end_reasons(trial)[-1] == "submit" and end_reasons(trial).count("validate") == 2
    assert len(trial.calls("validation")) == 2
    assert "31 submission.csv" in "".join(period["screen"] for period in trial.calls("human_period"))


async def test_every_version_of_the_submission_is_a_step_with_a_snapshot(trial, person):
    async def act():
        for number in range(1, 4):
            await person.does(f"echo {number} > submission.csv; echo wrote $((0 + {number}))", then=f"wrote {number}")
            await wait_for_snapshots(trial, number)
        await person.does("submit", then="submitted")

    await work(trial, person, act, Human(poll=0.1))
    kept = [event for event in read_events(trial.events) if event.kind == "snapshot_taken"]
    snapshots = [load_snapshot(trial.folder / "snapshots", each.snapshot) for each in kept[:3]]
    sizes = [snapshot.files["submission.csv"].sha256 for snapshot in snapshots]
    assert len(set(sizes)) == 3
    assert [each.step for each in kept] == [1, 2, 3, 3]
    assert end_reasons(trial) == ["changed", "changed", "changed", "submit"]
    times = [period["used"]["elapsed"] for period in trial.calls("human_period")]
    assert times == sorted(times) and times[0] < times[2]


async def test_snapshots_do_not_disturb_running_commands(trial, person):
    busy = """python -c 'import select, sys
while not select.select([sys.stdin], [], [], 0)[0]: pass
print("all", sys.stdin.readline())'"""

    async def act():
        await person.does(f"(sleep 1; echo back) & {busy}", then="back\r\n")
        await wait_for_snapshots(trial, 11)
        await person.types("done")
        await person.sees("all done")
        for number in range(10):  # keys that are typed at the moment of a snapshot arrive, too
            await person.does(f"echo $((40 + {number}))", then=str(40 + number))
        await person.does("submit", then="submitted")

    await work(trial, person, act, Human(poll=0.05, snapshot=0.05))
    assert "Stopped" not in person.screen


async def test_snapshots_are_taken_regularly_even_without_a_submission(trial, person):
    async def act():
        await person.does("echo notes > notes; echo wrote $((1 + 1))", then="wrote 2")
        await wait_for_snapshots(trial, 1)
        await person.does("submit", then="submitted")

    await work(trial, person, act, Human(poll=0.1, snapshot=0.2))
    assert end_reasons(trial)[0] == "snapshot"


async def test_leaving_the_shell_submits(trial, person):
    async def act():
        await person.does("python train.py; exit", then="You have left the shell")

    files = await work(trial, person, act)
    assert "submission.csv" in files
    assert end_reasons(trial)[-1] == "left"


async def test_keys_reach_the_running_program_and_the_window_size_is_right(trial, person):
    async def act():
        await person.does("trap 'echo caught $((1 + 2))' INT; echo ready $((2 + 3))", then="ready 5")
        await person.does("stty size", then="24 80")
        await person.does("sh -c 'echo begun $((3 + 3)); exec sleep 1000'", then="begun 6")
        await person.presses(b"\x03")
        await person.sees("caught 3")
        await person.does("echo sum $((1 + 1))", then="sum 2")
        await person.does("submit", then="submitted")

    await work(trial, person, act)


async def test_the_submission_in_place_counts_when_time_runs_out(trial, person):
    trial.budget = Budget(time=15, steps=50)

    async def act():
        await person.does("python train.py; sleep 1000", then="Time is up")

    files = await work(trial, person, act)
    assert "submission.csv" in files
    assert end_reasons(trial)[-1] == "time"


async def test_the_number_of_steps_is_not_limited(trial, person):
    trial.budget = Budget(time=600, steps=1)

    async def act():
        for _ in range(3):
            await person.does("validate", then="is invalid")
        await person.does("submit", then="submitted")

    await work(trial, person, act)
    assert len(trial.calls("validation")) == 3 and trial.calls("human_period")[-1]["used"]["steps"] == 1


async def test_a_killed_shell_is_replaced_and_files_persist(trial, person):
    async def act():
        await person.does("echo x > x; kill -9 $PPID", then="This is a new shell: your files are still there")
        await person.does("cat x", then="x")
        await person.does("submit", then="submitted")

    assert (await work(trial, person, act))["x"] == b"x\n"
    assert end_reasons(trial) == ["ended", "submit"]


async def test_a_closed_terminal_does_not_submit_and_the_trial_can_be_resumed(trial, person):
    async def act():
        await person.does("echo half > half; echo wrote $((1 + 1))", then="wrote 2")
        person.close()

    with pytest.raises(LabError, match="the terminal was closed; the files are kept"):
        await work(trial, person, act)
    again = Person()

    async def rest():
        await again.sees("This is a new shell: your files are still there, but no processes are running any more.")
        await again.does("cat half", then="half")
        await again.does("submit", then="submitted")

    try:
        files = await work(trial, again, rest)
    finally:
        again.close()
    assert files["half"] == b"half\n"
    assert end_reasons(trial) == ["disconnected", "submit"]


async def test_a_missing_terminal_is_reported(trial):
    async with trial.bench(terminal=Path("/dev/null")) as bench:
        with pytest.raises(LabError, match=r"cannot use the terminal /dev/null .*; start the run from a terminal"):
            await Human().work(bench)


def test_the_terminal_is_restored(trial, person):
    import termios

    from assay.agents.human.terminal import RawTerminal

    handle = os.open(person.terminal, os.O_RDWR | os.O_NOCTTY)
    before = termios.tcgetattr(handle)
    before[3] |= termios.ECHO | termios.ICANON
    termios.tcsetattr(handle, termios.TCSANOW, before)
    screen = RawTerminal(person.terminal)
    assert not termios.tcgetattr(handle)[3] & (termios.ECHO | termios.ICANON)
    screen.close()
    assert termios.tcgetattr(handle)[3] == before[3]
    os.close(handle)


@pytest.mark.slow
async def test_assay_run_gives_the_person_one_shell_after_another(home, tmp_path):
    words = [
        "--tasks",
        str(TESTS / "tiny"),
        "run",
        "tiny",
        "--agent",
        "human",
        "--seeds",
        "2",
        "--out",
        str(tmp_path / "run"),
    ]
    command = [sys.executable, "-m", "assay"]
    prepare_tiny(home)
    process, master = pty.fork()
    if process == 0:
        os.execve(sys.executable, [*command, *words], os.environ | {"ASSAY_HOME": str(home.root)})
    person = Person(master)
    for _ in range(2):
        await person.does("python train.py; validate; submit", then="Your work has been submitted.")
    await person.sees("Run folder:")
    with suppress(OSError):
        await person.sees("nothing more; wait for the end")
    assert os.waitpid(process, 0)[1] == 0
    os.close(master)
    trials = list(RunFolder(tmp_path / "run").trials())
    assert [trial.state.status for trial in trials] == ["done", "done"]
    assert all(trial.grade.sealed and trial.state.validations == 1 for trial in trials)
    check_verified(tmp_path / "run", home)
