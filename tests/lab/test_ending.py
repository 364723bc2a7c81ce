"""Nothing of a lab is left, whatever a command leaves running and however the harness ends."""

import os
import platform
import select
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from inside import EVERY_SANDBOX, WITHOUT_ENGINE, Open, host_processes, shell

from assay.core.disk import random_token
from assay.core.home import Home
from assay.lab import Setup, open_lab

pytestmark = pytest.mark.anyio

DAEMONS = {
    "background": "sleep {0} &",
    "nohup": "nohup sleep {0} > /dev/null 2>&1 &",
    "setsid": "setsid sleep {0} &",
    "double fork": "(setsid sh -c 'sleep {0} &' &) ; true",
    "keeps our pipes": "setsid sleep {0} 1>&2 &",
}


@WITHOUT_ENGINE
@pytest.mark.parametrize("way", DAEMONS)
async def test_a_process_left_in_the_background_is_gone_at_the_end(opened: Open, way: str):
    word = f"1{fresh_number()}"
    async with opened() as lab:
        left = await shell(lab, DAEMONS[way].format(word) + "\nsleep 0.2; echo started")
        assert left.stdout.text == "started\n"
        assert host_processes(word) == []


@EVERY_SANDBOX
@pytest.mark.parametrize("way", ["setsid", "double fork"])
async def test_a_process_left_in_the_background_is_gone_after_a_timeout(opened: Open, way: str):
    word = f"1{fresh_number()}"
    async with opened() as lab:
        late = await shell(lab, DAEMONS[way].format(word) + f"\nsleep {word}", seconds=0.5)
        assert late.ended == "time"
        assert host_processes(word) == []


async def test_the_probe_for_leftover_processes_finds_one(opened: Open):
    word = f"1{fresh_number()}"
    async with opened() as lab:
        process = await lab.start(["/bin/sh", "-c", f"echo ready; sleep {word}; true"])
        await process.receive(6)
        assert host_processes(word)
        await process.kill()
        assert host_processes(word) == []


@EVERY_SANDBOX
async def test_cancelling_a_command_leaves_no_process(opened: Open):
    word = f"1{fresh_number()}"
    async with opened() as lab:
        with anyio.move_on_after(0.5) as scope:
            await shell(lab, f"setsid sleep {word} & sleep {word}", seconds=1000)
        assert scope.cancelled_caught
        assert host_processes(word) == []
        assert (await shell(lab, "echo still usable")).succeeded


@WITHOUT_ENGINE
async def test_an_error_in_the_block_closes_the_lab_and_is_raised_unchanged(opened: Open, home: Home):
    word = f"1{fresh_number()}"
    with pytest.raises(KeyError, match="mine"):
        async with opened() as lab:
            await lab.start(["sleep", word])
            raise KeyError("mine")
    assert host_processes(word) == []
    assert leftovers(home) == []


@EVERY_SANDBOX
async def test_closing_a_lab_leaves_no_process_folder_mount_or_group(opened: Open, home: Home):
    word = f"1{fresh_number()}"
    async with opened() as lab:
        await lab.start(["sleep", word])
        name = next(home.labs.iterdir()).name
        assert leftovers(home, name) != []
    assert host_processes(word) == []
    assert leftovers(home, name) == []


HARNESS = """
import anyio, sys
from pathlib import Path
from assay.core.home import Home
from assay.lab import Setup, open_lab

async def main():
    async with open_lab(Home(Path(sys.argv[1])), Setup(Path(sys.argv[2])), sys.argv[4]) as lab:
        process = await lab.start(["/bin/sh", "-c", f"setsid sleep {sys.argv[3]} & echo ready; sleep {sys.argv[3]}"])
        ready = await process.receive(6)
        # then
        print(ready.decode(), flush=True)
        await anyio.sleep_forever()

anyio.run(main)
"""


def end_harness(harness: subprocess.Popen[bytes], word: str, how: signal.Signals) -> None:
    """Send a harness a signal, and fail if a process of its lab outlives it."""
    sleepers = [os.pidfd_open(pid) for pid in host_processes(word) if pid != harness.pid]
    assert sleepers
    harness.send_signal(how)
    harness.wait(300)
    for sleeper in sleepers:
        assert select.select([sleeper], [], [], 300)[0], "a process outlived its harness"
        os.close(sleeper)


@EVERY_SANDBOX
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
async def test_killing_the_harness_leaves_no_process_and_the_next_lab_removes_the_rest(
    home: Home, core: Path, how: signal.Signals, sandbox: str
):
    word = f"1{fresh_number()}"
    command = [sys.executable, "-c", HARNESS, str(home.root), str(core), word, sandbox]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as harness:
        assert harness.stdout is not None
        assert harness.stdout.readline() == b"ready\n"
        name = next(home.labs.iterdir()).name
        end_harness(harness, word, how)
    assert host_processes(word) == []
    if how == signal.SIGKILL:
        assert leftovers(home, name) != []
    async with open_lab(home, Setup(core), sandbox):
        assert [folder.name for folder in home.labs.iterdir()] != [name]
        assert leftovers(home, name) == []
    assert leftovers(home) == []


# Overwrites the code of the sandbox's first process where it waits, so that it forgets to die with the harness and
# sleeps for ever: mov edi, 1 (PR_SET_PDEATHSIG); xor esi, esi; mov eax, 157 (prctl); syscall; mov eax, 34 (pause);
# syscall; jmp to the last mov.
HIJACK = """
import os, sys, time
code = bytes.fromhex("bf01000000 31f6 b89d000000 0f05 b822000000 0f05 ebf7")
address = int(open("/proc/1/syscall").read().split()[-1], 16)
memory = os.open("/proc/1/mem", os.O_RDWR)
assert os.pwrite(memory, code, address) == len(code)
if os.fork() == 0:
    if os.fork() == 0:
        os._exit(0)  # an orphan, whose end wakes the first process
    os._exit(0)
os.wait()
while open("/proc/1/syscall").read().split()[0] != "34":
    time.sleep(0.01)
print("ready", flush=True)
time.sleep(int(sys.argv[1]))
"""
HIJACKED_HARNESS = HARNESS.replace(
    """["/bin/sh", "-c", f"setsid sleep {sys.argv[3]} & echo ready; sleep {sys.argv[3]}"]""",
    """["python", "-c", sys.argv[5], sys.argv[3]]""",
)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the attack is machine code of this processor")
async def test_a_lab_whose_first_process_was_taken_over_does_not_outlive_the_harness(home: Home, core: Path):
    word = f"1{fresh_number()}"
    command = [sys.executable, "-c", HIJACKED_HARNESS, str(home.root), str(core), word, "bubblewrap", HIJACK]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as harness:
        assert harness.stdout is not None
        assert harness.stdout.readline() == b"ready\n"
        end_harness(harness, word, signal.SIGKILL)
    assert host_processes(word) == []


@WITHOUT_ENGINE
async def test_a_paused_process_does_not_outlive_the_harness(home: Home, core: Path, sandbox: str):
    word = f"1{fresh_number()}"
    pausing = HARNESS.replace("# then", "await process.pause()")
    command = [sys.executable, "-c", pausing, str(home.root), str(core), word, sandbox]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as harness:
        assert harness.stdout is not None
        assert harness.stdout.readline() == b"ready\n"
        end_harness(harness, word, signal.SIGKILL)


@EVERY_SANDBOX
async def test_a_lab_ends_at_its_deadline_while_the_event_loop_is_blocked(opened: Open, tmp_path: Path):
    async with opened() as lab:
        process = await lab.start(["/bin/sh", "-c", "echo ready; while :; do :; done"])
        await process.receive(6)
        pids = [os.pidfd_open(pid) for pid in host_processes("while :; do :; done")]
        lab.kill_after(0.2)
        # This blocks the loop, as a request that is slow to parse would; only another thread can kill the process.
        for pid in pids:
            assert select.select([pid], [], [], 300)[0], "the process outlived its deadline"
            os.close(pid)
        assert (await process.kill()).ended == "time"
        assert (await shell(lab, "sleep 30")).ended == "time"
        await lab.write("still", b"accessible")


@EVERY_SANDBOX
async def test_labs_open_at_once_have_users_of_their_own(opened: Open, home: Home):
    async with opened() as first, opened() as other:
        assert len(list(home.labs.iterdir())) == 2
        await first.write("mine", b"1")
        assert [path async for path in other.files()] == []
        if os.geteuid() == 0:
            assert first.sealing.enforced["user"] != other.sealing.enforced["user"]
    assert leftovers(home) == []


def fresh_number() -> str:
    """Return a number of seconds that no other test sleeps."""
    return str(int(random_token(), 16))[:9]


def leftovers(home: Home, name: str = "") -> list[str]:
    """Return what is left of the labs in a home: folders, mounts, loop devices, control groups."""
    remains = [str(folder) for folder in home.labs.iterdir() if name in folder.name]
    where = str(home.labs / name) if name else str(home.labs)
    remains += [line for line in Path("/proc/mounts").read_text().splitlines() if where in line]
    for backing in Path("/sys/block").glob("loop*/loop/backing_file"):
        try:
            remains += [str(backing)] if where in backing.read_text() else []
        except FileNotFoundError:
            continue
    if name:
        remains += [folder for folder, _, _ in os.walk("/sys/fs/cgroup") if name in folder]
    return remains
