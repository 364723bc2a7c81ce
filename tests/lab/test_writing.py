"""Code in a lab tries to write to read-only folders and to unlimited memory disks."""

import os
from pathlib import Path

import pytest
from inside import Open, python, shell

pytestmark = pytest.mark.anyio


async def test_writing_to_the_data_fails(opened: Open, public: Path):
    attack = """
for attempt in 'echo cheat > data/train.csv' 'rm data/train.csv' 'touch data/new' 'mv data elsewhere' 'rmdir data' \
    'chmod 777 data' 'ln -s x data/x' 'rm -rf data' 'ln data/train.csv stolen'; do
    sh -c "$attempt" 2> /dev/null && echo "done: $attempt"
done
cat data/train.csv
"""
    async with opened(data=public) as lab:
        assert (await shell(lab, attack)).stdout.text == "id,y\n1,2\n"
    assert [file.name for file in public.iterdir()] == ["train.csv"]


@pytest.mark.parametrize(
    "path", ["/opt/env", "/opt/env/lib", "/usr", "/usr/local", "/lab", "/etc", "/", "/dev", "/opt", "/var"]
)
async def test_writing_outside_the_workspace_fails(opened: Open, path: str):
    # The agent's user owns the lab's root, so only read-only mounts prevent this.
    attack = "import sys; open(sys.argv[1] + '/planted', 'w').write('x'); print('written')"
    async with opened() as lab:
        tried = await python(lab, attack, path)
        assert (await python(lab, attack, "/workspace")).stdout.text == "written\n"
    assert "Read-only file system" in tried.stderr.text


async def test_the_budget_can_be_read_and_not_changed(opened: Open):
    async with opened() as lab:
        await lab.write_status(b'{"seconds": 60}')
        assert (await shell(lab, "cat /lab/budget.json")).stdout.head == b'{"seconds": 60}'
        assert not (await shell(lab, "echo '{}' > /lab/budget.json")).succeeded
        await lab.write_status(b'{"seconds": 30}')
        assert (await shell(lab, "cat /lab/budget.json")).stdout.head == b'{"seconds": 30}'


async def test_a_running_command_sees_the_budget_change(opened: Open):
    async with opened() as lab:
        await lab.write_status(b"1")
        process = await lab.start(["/bin/sh", "-c", "while read line; do cat /lab/budget.json; done"])
        await process.send(b"\n")
        assert await process.receive(1) == b"1"
        await lab.write_status(b"2")
        await process.send(b"\n")
        assert await process.receive(1) == b"2"


async def test_no_privileged_file_is_created_on_the_host(opened: Open):
    async with opened() as lab:
        completed = await python(
            lab, "import os; os.mkfifo('pipe'); os.chmod('.', 0o6777); os.mknod('disk', 0o60600, 0x700)"
        )
    assert "PermissionError" in completed.stderr.text or "Operation not permitted" in completed.stderr.text
    if os.geteuid() == 0:
        async with opened() as lab:
            status = (await shell(lab, "cat /proc/self/status")).stdout.text
        assert "CapEff:\t0000000000000000" in status
        assert "CapBnd:\t0000000000000000" in status
        assert "NoNewPrivs:\t1" in status
