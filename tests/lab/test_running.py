"""Commands and long-lived processes in a lab."""

from pathlib import Path

import pytest
from inside import Open, python, shell

from assay.core.errors import LabError
from assay.core.home import Home
from assay.lab import Setup, open_lab
from assay.lab.execution import OutputBuffer, ResourceSamples
from assay.lab.interface import ResourceSample

pytestmark = pytest.mark.anyio

SANDBOXES = pytest.mark.parametrize("sandbox", ["bubblewrap", "landlock", "podman", "none"])


@SANDBOXES
async def test_exit_codes_and_signals_are_reported(opened: Open, sandbox: str):
    async with opened(sandbox) as lab:
        good, bad, signalled, missing = [
            await lab.run(command, seconds=300)
            for command in (["true"], ["sh", "-c", "exit 7"], ["sh", "-c", "kill -TERM $$"], ["no-such-program"])
        ]
    assert (good.ended, good.code, good.succeeded) == ("exit", 0, True)
    assert (bad.ended, bad.code, bad.succeeded) == ("exit", 7, False)
    assert (signalled.ended, signalled.code) == ("signal", 143)
    assert (missing.ended, missing.code) == ("exit", 127)


@SANDBOXES
async def test_streams_input_variables_and_folder(opened: Open, sandbox: str):
    async with opened(sandbox) as lab:
        done = await lab.run(
            ["sh", "-c", "cat; echo $WORD; pwd | grep -o workspace; echo wrong >&2"],
            seconds=300,
            stdin=b"input\n",
            variables={"WORD": "given"},
        )
        assert done.stdout.text == "input\ngiven\nworkspace\n"
        assert done.stderr.text == "wrong\n"
        assert (await lab.run(["cat"], seconds=300)).stdout.total == 0


@SANDBOXES
async def test_the_environment_is_the_python_of_the_lab(opened: Open, sandbox: str, core: Path):
    async with opened(sandbox) as lab:
        done = await python(lab, "import numpy, sys; print(sys.prefix, numpy.ones(2).sum())", seconds=60)
    assert done.stdout.text == f"{core if sandbox in ('landlock', 'none') else '/opt/env'} 2.0\n", done.stderr.text


async def test_a_long_output_keeps_its_start_and_end(opened: Open):
    async with opened() as lab:
        long = (await python(lab, "print('begin'); print('x' * 1_000_000); print('end')")).stdout
    assert long.total == 6 + 1_000_001 + 4
    assert long.head.startswith(b"begin\n")
    assert long.tail.endswith(b"x\nend\n")
    assert f"… {long.total - 2 * 65536:,} bytes omitted …" in long.text


def test_a_short_stream_is_kept_completely():
    gathered = OutputBuffer()
    for byte in range(256):
        gathered.add(bytes([byte]) * 300)
    output = gathered.output()
    assert output.head + output.tail == b"".join(bytes([byte]) * 300 for byte in range(256))


@SANDBOXES
async def test_a_long_lived_process_answers_until_it_is_killed(opened: Open, sandbox: str):
    async with opened(sandbox) as lab:
        process = await lab.start(["sh", "-c", "while read line; do echo got $line; done; echo bye"])
        for word in (b"one", b"two"):
            await process.send(word + b"\n")
            assert await process.receive(8) == b"got " + word + b"\n"
        with pytest.raises(LabError, match="a process is running in the lab"):
            await lab.read("x", max_size=1)
        assert (await shell(lab, "echo second")).stdout.text == "second\n"
        ended = await process.kill()
        assert (ended.ended, ended.code) == ("signal", 137)
        await lab.write("x", b"")


@SANDBOXES
async def test_the_error_of_an_ended_process_includes_its_last_output(opened: Open, sandbox: str):
    async with opened(sandbox) as lab:
        process = await lab.start(["sh", "-c", "echo out; echo why >&2; exit 3"])
        assert await process.receive(4) == b"out\n"
        with pytest.raises(LabError, match="has ended"):
            await process.receive(1)
        ended = await process.kill()
    assert (ended.ended, ended.code, ended.stderr.text) == ("exit", 3, "why\n")


async def test_the_workspace_persists_between_commands_and_tmp_does_not(opened: Open):
    async with opened() as lab:
        await shell(lab, "echo kept > file; echo gone > /tmp/file; echo gone > /dev/shm/file")
        assert (await shell(lab, "cat file; ls /tmp /dev/shm")).stdout.text == "kept\n/dev/shm:\n\n/tmp:\n"


async def test_the_sealing_is_reported(opened: Open):
    async with opened() as lab:
        assert lab.sealing.sealed
        assert lab.sealing.network == "none"
        assert {"network", "files", "user", "disk", "memory", "processes"} <= set(lab.sealing.enforced)
    async with opened("none") as lab:
        assert not lab.sealing.sealed
        assert lab.sealing.network == "host"
        assert "network" in lab.sealing.missing


async def test_a_missing_environment_or_data_folder_is_reported(home: Home, core: Path):
    with pytest.raises(LabError, match="assay lab build"):
        async with open_lab(home, Setup(home.root)):
            pass
    with pytest.raises(LabError, match="prepare the task"):
        async with open_lab(home, Setup(core, data=home.root / "absent")):
            pass


async def test_what_a_command_used_is_sampled_over_time(opened: Open):
    code = """
import time
kept = bytearray(200 * 2**20)
with open("big", "wb") as file:
    file.write(bytes(30 * 2**20))
end = time.process_time() + 3
while time.process_time() < end:
    pass
"""
    async with opened() as lab:
        done = await lab.run(["python", "-c", code], seconds=300)
    assert done.succeeded, done.stderr.text
    samples = done.samples
    assert [sample.seconds for sample in samples] == sorted({sample.seconds for sample in samples})
    assert 1.5 < samples[-1].cpu < 10 and samples[-1].seconds <= done.seconds
    assert max(sample.memory for sample in samples) > 150 * 2**20
    assert samples[-1].disk > 25 * 2**20


def test_the_number_of_samples_is_bounded():
    samples = ResourceSamples(interval=1.0, max_samples=10)
    for second in range(1000):
        if samples.is_due(second):
            samples.add(ResourceSample(second, 0.0, 0, 0))
    assert 4 <= len(samples.kept) < 10
    assert samples.kept[0].seconds == 0 and samples.kept[-1].seconds > 800
