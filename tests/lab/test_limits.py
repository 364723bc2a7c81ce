"""Code in a lab tries to exhaust the machine."""

import dataclasses
import os

import pytest
from inside import EVERY_SANDBOX, SMALL, WITHOUT_ENGINE, Open, python, shell

from assay.lab import Lab

pytestmark = pytest.mark.anyio


def enforced_by_kernel(lab: Lab, limit: str) -> bool:
    """Whether the kernel enforces a limit, as it always does for root."""
    held = "polled" not in lab.sealing.enforced.get(limit, "polled")
    assert held or os.geteuid() != 0, lab.sealing
    return held


@EVERY_SANDBOX
async def test_a_fork_bomb_stops_at_the_limit(opened: Open):
    bomb = """
import os, time
made = 0
try:
    while made < 200:
        if os.fork() == 0:
            time.sleep(100)
        made += 1
except BlockingIOError:
    pass
print(made)
"""
    async with opened(limits=SMALL) as lab:
        assert int((await python(lab, bomb)).stdout.text) <= SMALL.processes
    async with opened(limits=dataclasses.replace(SMALL, processes=400)) as lab:
        assert int((await python(lab, bomb)).stdout.text) == 200


async def test_a_command_cannot_start_when_another_has_all_processes(opened: Open):
    bomb = """
import os, time
try:
    while os.fork():
        pass
except BlockingIOError:
    print("full", flush=True)
time.sleep(100)
"""
    async with opened(limits=SMALL) as lab:
        process = await lab.start(["python", "-c", bomb])
        assert await process.receive(4) == b"full"
        second = await shell(lab, "true")
        # Without control groups each command has its own limit.
        together = "control group" in lab.sealing.enforced["processes"]
        assert (second.ended, second.code) == ("exit", 126 if together else 0)
        assert together or os.geteuid() != 0
        await process.kill()
        assert (await shell(lab, "true")).succeeded


@EVERY_SANDBOX
async def test_eating_memory_ends_the_command(opened: Open):
    eat = "import sys; food = bytearray(int(sys.argv[1])); print('ate', len(food))"
    async with opened(limits=SMALL) as lab:
        assert (await python(lab, eat, "100000000")).succeeded
        ate = await python(lab, eat, "400000000")
    assert ate.ended == "memory" or (not enforced_by_kernel(lab, "memory") and "MemoryError" in ate.stderr.text)
    assert "ate" not in ate.stdout.text


@EVERY_SANDBOX
async def test_eating_memory_in_many_processes_ends_the_command(opened: Open):
    eat = """
import os, sys, time
for _ in range(8):
    if os.fork() == 0:
        food = bytearray(60_000_000)
        time.sleep(60)
sys.exit(os.wait()[1])
"""
    async with opened(limits=SMALL) as lab:
        assert (await python(lab, eat)).ended == "memory"


@pytest.mark.parametrize("path", ["/tmp", "/dev/shm"])
async def test_filling_a_memory_disk_stops_at_its_size(opened: Open, path: str):
    fill = "import sys; open(sys.argv[1] + '/full', 'wb').write(bytes(60_000_000))"
    async with opened(limits=SMALL) as lab:
        assert "No space left" in (await python(lab, fill, path)).stderr.text
        assert (await python(lab, fill.replace("60_000", "20_000"), path)).succeeded


async def test_memory_disks_count_as_memory(opened: Open):
    both = """
import sys
for place in ('/tmp', '/dev/shm'):
    open(place + '/full', 'wb').write(bytes(45_000_000))
food = bytearray(int(sys.argv[1]))
print('ate')
"""
    async with opened(limits=SMALL) as lab:
        # Without control groups these disks do not count towards the limit of a process.
        food = 150_000_000 if enforced_by_kernel(lab, "memory") else 250_000_000
        ate = await python(lab, both, str(food))
    assert ate.ended == "memory" or (not enforced_by_kernel(lab, "memory") and "MemoryError" in ate.stderr.text)
    assert "ate" not in ate.stdout.text


@EVERY_SANDBOX
async def test_filling_the_workspace_stops_at_the_disk_limit(opened: Open):
    fill = "for i in range(64): open(f'part{i}', 'wb').write(bytes(1_000_000))"
    async with opened(limits=SMALL) as lab:
        filled = await python(lab, fill)
        assert filled.ended == "disk"
        size = sum([len(await lab.read(str(path), max_size=10**8)) async for path in lab.files()])
        assert size <= SMALL.disk * 1.05 or not enforced_by_kernel(lab, "disk")
        assert (await shell(lab, "rm part*")).succeeded
    async with opened(limits=dataclasses.replace(SMALL, disk=100 * 10**6)) as lab:
        assert (await python(lab, fill)).succeeded


@WITHOUT_ENGINE
async def test_many_empty_files_stop_at_the_disk_limit(opened: Open):
    crowd = "for i in range(100_000): open(f'{i}', 'w').close()"
    async with opened(limits=SMALL) as lab:
        assert (await python(lab, crowd)).ended == "disk"


async def test_one_huge_file_stops_at_the_file_limit(opened: Open):
    limits = dataclasses.replace(SMALL, file_size=10**6)
    huge = "import sys; open(sys.argv[1], 'wb').truncate(2_000_000)"
    async with opened(limits=limits) as lab:
        for path in ("huge", "/tmp/huge", "/dev/shm/huge"):
            assert "File too large" in (await python(lab, huge, path)).stderr.text
        assert (await python(lab, huge.replace("2_000", "900"), "small")).succeeded


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
async def test_endless_output_ends_the_command(opened: Open, stream: str):
    async with opened(limits=SMALL) as lab:
        printed = await shell(lab, "yes >&2" if stream == "stderr" else "yes")
    output = printed.stderr if stream == "stderr" else printed.stdout
    assert printed.ended == "output"
    assert len(output.head) + len(output.tail) < 200_000
    assert output.total > SMALL.output


async def test_running_out_of_time_ends_the_command(opened: Open):
    async with opened() as lab:
        late = await shell(lab, "echo early; sleep 1000", seconds=5)
    assert (late.ended, late.code, late.stdout.head) == ("time", 137, b"early\n")


@WITHOUT_ENGINE
async def test_core_files_are_not_written(opened: Open):
    async with opened() as lab:
        died = await shell(lab, "kill -SEGV $$")
        assert (died.ended, died.code) == ("signal", 139)
        assert [path async for path in lab.files()] == []


@WITHOUT_ENGINE
async def test_processor_time_is_limited(opened: Open):
    spin = """
import resource, time
end = time.monotonic() + 1
while time.monotonic() < end:
    pass
print(resource.getrusage(resource.RUSAGE_SELF).ru_utime)
"""
    async with opened(limits=dataclasses.replace(SMALL, cores=0.2)) as lab:
        used = float((await python(lab, spin)).stdout.text)
    if enforced_by_kernel(lab, "cpu"):
        assert used < 0.6
    else:
        assert "control group" in lab.sealing.missing["cpu"]


@EVERY_SANDBOX
async def test_code_in_a_pinned_lab_stays_on_its_processors(opened: Open):
    move = "import os; os.sched_setaffinity(0, range(os.cpu_count())); print(len(os.sched_getaffinity(0)))"
    async with opened(pinned=True) as lab:
        moved = await python(lab, move)
        seen = await python(lab, "import os; print(len(os.sched_getaffinity(0)))")
    assert "PermissionError" in moved.stderr.text
    assert seen.stdout.text == "1\n"


TCP_QUEUES = """
import socket
server = socket.create_server(("127.0.0.1", 0), backlog=100)
held, kept = 0, []
for _ in range(64):
    out = socket.create_connection(server.getsockname())
    kept += [out, server.accept()[0]]
    for end in kept[-2:]:
        for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
            try:
                end.setsockopt(socket.SOL_SOCKET, option, 2**24)
            except PermissionError:
                pass
    out.setblocking(False)
    try:
        while True:
            held += out.send(bytes(2**16))
    except BlockingIOError:
        pass
print(held)
"""


async def test_buffers_of_sockets_cannot_be_enlarged_and_tcp_queues_stay_below_the_memory_limit(opened: Open):
    async with opened(limits=SMALL) as lab:
        queued = await python(lab, TCP_QUEUES, seconds=60)
    # Without control groups, only the kernel's own limits for each connection hold: 6 and 4 MB in its queues.
    max_queued = SMALL.memory if enforced_by_kernel(lab, "memory") else 64 * 10 * 2**20
    assert int(queued.stdout.text) < max_queued, queued


async def test_netlink_does_not_pass_messages_between_processes(opened: Open):
    probe = """
import errno, socket
for protocol in (0, 2, 16):
    try:
        socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol).close()
        print('opened')
    except OSError as error:
        print(errno.errorcode[error.errno])
"""
    async with opened() as lab:
        assert (await python(lab, probe)).stdout.text.split() == ["opened", "EPROTONOSUPPORT", "EPROTONOSUPPORT"]


async def test_a_command_that_fills_the_queues_of_thousands_of_sockets_is_ended(opened: Open):
    # The kernel counts the queues of UDP sockets neither as memory of a control group nor of a process.
    fill = """
import os, socket, time
for _ in range(6):
    if os.fork() == 0:
        kept = []
        for _ in range(500):
            one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            one.bind(("127.0.0.1", 0))
            one.sendto(bytes(60_000), one.getsockname())
            kept.append(one)
        time.sleep(60)
os.wait()
"""
    async with opened(limits=SMALL) as lab:
        assert (await python(lab, fill, seconds=300)).ended == "memory"
    few = "import socket; kept = [socket.socket() for _ in range(50)]; import time; time.sleep(0.7)"
    async with opened(limits=SMALL) as lab:
        assert (await python(lab, few)).succeeded
