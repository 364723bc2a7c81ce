"""A long-lived process can be paused with all its descendants while the workspace is accessed."""

import os
from pathlib import Path

import pytest
from inside import WITHOUT_ENGINE, Open

from assay.core.errors import LabError

pytestmark = pytest.mark.anyio

SANDBOXES = pytest.mark.parametrize("sandbox", ["bubblewrap", "landlock", "podman", "none"])

# Writers of many kinds: threads, children, and children that were left behind by their parent.
RESTLESS = """
import os, sys, threading
def write(name):
    with open(name, "a") as file:
        while True:
            file.write("x")
            file.flush()
for name in ("thread-a", "thread-b"):
    threading.Thread(target=write, args=[name], daemon=True).start()
for name in ("child-a", "child-b"):
    if os.fork() == 0:
        write(name)
if os.fork() == 0:
    if os.fork() == 0:
        write("orphan")
    os._exit(0)
while not all(os.path.exists(n) and os.path.getsize(n) for n in ("thread-b", "child-b", "orphan")):
    pass
print("ready", flush=True)
for line in sys.stdin:
    print("got", line, end="", flush=True)
"""

# Starts short-lived processes faster than they can be listed.
BREEDING = """
import subprocess, sys, threading
def breed():
    while True:
        subprocess.run(["/bin/sh", "-c", "echo x >> born; /bin/true"])
for _ in range(3):
    threading.Thread(target=breed, daemon=True).start()
print("ready", flush=True)
sys.stdin.read()
"""

# Has a child that stops itself and would create a file if it continued.
SELF_STOPPED = """
import os, signal, sys
child = os.fork()
if child == 0:
    os.kill(os.getpid(), signal.SIGSTOP)
    open("woken", "w")
else:
    os.waitpid(child, os.WUNTRACED)
    print("ready", flush=True)
    sys.stdin.readline()
    print(os.waitpid(child, os.WNOHANG | os.WCONTINUED), flush=True)
"""


async def sizes(lab) -> dict[str, int]:
    return {str(path): len(await lab.read(str(path), max_size=10**9)) async for path in lab.files()}


@SANDBOXES
async def test_a_paused_process_changes_nothing_and_continues_afterwards(opened: Open, sandbox: str):
    async with opened(sandbox) as lab:
        process = await lab.start(["python", "-c", RESTLESS])
        assert await process.receive(6) == b"ready\n"
        await process.pause()
        before = await sizes(lab)
        assert (await lab.run(["python", "-c", "print(sum(range(10**7)))"], seconds=60)).succeeded
        after = await sizes(lab)
        if sandbox == "none":  # an orphan cannot be found there
            before.pop("orphan")
            after.pop("orphan")
        assert after == before
        await lab.write("from-outside", b"")
        await process.unpause()
        await process.send(b"hello\n")
        assert await process.receive(10) == b"got hello\n"
        grown = after
        while grown["child-a"] == before["child-a"]:  # endless, if it had not been continued
            await process.pause()
            grown = await sizes(lab)
            await process.unpause()
        await process.kill()


@WITHOUT_ENGINE
async def test_processes_that_keep_starting_others_are_paused_too(opened: Open):
    async with opened() as lab:
        process = await lab.start(["python", "-c", BREEDING])
        assert await process.receive(6) == b"ready\n"
        for _ in range(5):
            await process.pause()
            before = await sizes(lab)
            await lab.run(["python", "-c", "print(sum(range(10**6)))"], seconds=60)
            assert await sizes(lab) == before
            await process.unpause()
        await process.kill()


# Every process forks and exits at once, so that none lives long enough to be listed and stopped.
FORK_CHAIN = """
import mmap, os, struct
with open("counter", "w+b") as file:
    file.truncate(8)
    counter = mmap.mmap(file.fileno(), 8)
print("ready", flush=True)
first = os.fork()
if first:
    os.waitpid(first, 0)
    input()
while True:
    counter[:] = struct.pack("q", struct.unpack("q", counter)[0] + 1)
    if os.fork():
        os._exit(0)
"""


@WITHOUT_ENGINE
async def test_a_chain_of_processes_that_fork_and_exit_is_paused(opened: Open):
    async with opened() as lab:
        process = await lab.start(["python", "-c", FORK_CHAIN])
        assert await process.receive(6) == b"ready\n"
        last = bytes(8)
        for _ in range(4):
            count = last
            while count == last:  # until the chain has made progress
                await process.unpause()
                await process.pause()
                count = await lab.read("counter", max_size=8)
            await lab.run(["python", "-c", "print(sum(range(10**6)))"], seconds=60)
            assert await lab.read("counter", max_size=8) == count
            last = count
        await process.kill()


@WITHOUT_ENGINE
async def test_a_paused_process_can_be_killed(opened: Open):
    async with opened() as lab:
        process = await lab.start(["sleep", "1000"])
        await process.pause()
        ended = await process.kill()
        assert (ended.ended, ended.code) == ("signal", 137)
        await lab.write("x", b"")


async def test_a_lab_with_a_paused_process_closes(opened: Open):
    async with opened() as lab:
        process = await lab.start(["sleep", "1000"])
        await process.pause()


async def test_a_process_that_had_stopped_itself_stays_stopped(opened: Open):
    async with opened() as lab:
        process = await lab.start(["python", "-c", SELF_STOPPED])
        assert await process.receive(6) == b"ready\n"
        await process.pause()
        await process.unpause()
        await process.send(b"\n")
        assert await process.receive(7) == b"(0, 0)\n"
        await process.kill()
        assert not [path async for path in lab.files()]


async def test_a_container_is_paused_by_its_engine(opened: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    # Most test machines have no engine, so this records how one would be called.
    log = tmp_path / "calls"
    (tmp_path / "docker").write_text(
        f'#!/bin/sh\necho "$@" >> {log}\ncase "$1" in version) echo 1.0;; run) exec cat;; '
        "inspect) echo false 1 running 0;; container) exit 1;; esac\n"
    )
    (tmp_path / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    async with opened("docker") as lab:
        process = await lab.start(["cat"])
        await process.send(b"x")
        assert await process.receive(1) == b"x"
        with pytest.raises(LabError, match="a process is running in the lab"):
            await lab.write("a", b"")
        await process.pause()
        await lab.write("a", b"")
        await process.unpause()
        await process.kill()
    calls = [line.split() for line in log.read_text().splitlines()]
    (name,) = {words[1] for words in calls if words[0] in ("pause", "unpause")}
    assert [words[0] for words in calls if name in words] == ["run", "pause", "unpause", "inspect", "rm", "container"]


async def test_output_is_received_as_it_comes(opened: Open):
    async with opened() as lab:
        process = await lab.start(["sh", "-c", "printf abcdef; read line; printf gh"])
        got = await process.receive_some(4)
        while len(got) < 6:
            got += await process.receive_some(4)
        assert got == b"abcdef"
        await process.send(b"\n")
        assert await process.receive(2) == b"gh"
        await process.kill()
