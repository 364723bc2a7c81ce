"""Code in a lab tries to write to read-only folders and to unlimited memory disks."""

import os
from pathlib import Path

import pytest
from inside import EVERY_SANDBOX, WITH_NAMESPACES, WITHOUT_ENGINE, Open, python, shell

from assay.core.home import Home

pytestmark = pytest.mark.anyio


@WITH_NAMESPACES
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


async def test_data_without_a_mount_cannot_be_changed_and_a_removed_link_to_it_comes_back(opened: Open, public: Path):
    attack = """
for attempt in 'echo cheat > data/train.csv' 'rm data/train.csv' ': > data/new' 'ln -s x data/x' \\
    'ln data/train.csv stolen' 'truncate --size 0 data/train.csv' 'mv data/train.csv .'; do
    sh -c "$attempt" 2> /dev/null && echo "done: $attempt"
done
cat data/train.csv
rm data && mkdir data && echo cheat > data/train.csv
"""
    async with opened("landlock", data=public) as lab:
        assert (await shell(lab, attack)).stdout.text == "id,y\n1,2\n"
        assert (await shell(lab, "cat data/train.csv")).stdout.text == "id,y\n1,2\n"
    assert [file.name for file in public.iterdir()] == ["train.csv"]
    assert (public / "train.csv").read_text() == "id,y\n1,2\n"


@EVERY_SANDBOX
@pytest.mark.parametrize("folder", ["environment", "status"])
async def test_writing_to_the_read_only_folders_of_the_lab_fails(opened: Open, folder: str):
    attack = "import sys; open(sys.argv[1] + '/planted', 'w').write('x'); print('written')"
    async with opened() as lab:
        assert "written" not in (await python(lab, attack, getattr(lab.paths, folder))).stdout.text
        assert (await python(lab, attack, lab.paths.workspace)).stdout.text == "written\n"


async def test_code_that_shares_nothing_but_the_kernel_cannot_write_elsewhere(opened: Open, home: Home, tmp_path: Path):
    # Every user may write to these, so that only Landlock prevents it.
    (home.root / "open").mkdir()
    (home.root / "open").chmod(0o777)
    attack = """
import os, sys
for folder in sys.argv[1:]:
    for way in (lambda: open(folder + '/planted', 'w'), lambda: os.mkdir(folder + '/planted'),
                lambda: os.symlink('x', folder + '/planted'), lambda: os.mkfifo(folder + '/planted'),
                lambda: os.rename('own', folder + '/planted'), lambda: os.link('own', folder + '/planted')):
        try:
            way()
            print('written', folder)
        except OSError:
            pass
"""
    async with opened("landlock") as lab:
        await lab.write("own", b"")
        tried = await python(lab, attack, "/tmp", "/var/tmp", "/run", home.root / "open")
    assert (tried.stdout.text, tried.stderr.text) == ("", "")


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


@EVERY_SANDBOX
async def test_the_budget_can_be_read_and_not_changed(opened: Open):
    async with opened() as lab:
        await lab.write_status(b'{"seconds": 60}')
        assert (await shell(lab, f"cat {lab.paths.status}/budget.json")).stdout.head == b'{"seconds": 60}'
        assert not (await shell(lab, f"echo '{{}}' > {lab.paths.status}/budget.json")).succeeded
        await lab.write_status(b'{"seconds": 30}')
        assert (await shell(lab, f"cat {lab.paths.status}/budget.json")).stdout.head == b'{"seconds": 30}'


@WITHOUT_ENGINE
async def test_a_running_command_sees_the_budget_change(opened: Open):
    async with opened() as lab:
        await lab.write_status(b"1")
        process = await lab.start(["/bin/sh", "-c", f"while read line; do cat {lab.paths.status}/budget.json; done"])
        await process.send(b"\n")
        assert await process.receive(1) == b"1"
        await lab.write_status(b"2")
        await process.send(b"\n")
        assert await process.receive(1) == b"2"


@WITHOUT_ENGINE
async def test_no_privileged_file_is_created_on_the_host(opened: Open):
    async with opened() as lab:
        completed = await python(
            lab, "import os; os.mkfifo('pipe'); os.chmod('.', 0o6777); os.mknod('disk', 0o60600, 0x700)"
        )
    assert "PermissionError" in completed.stderr.text or "Operation not permitted" in completed.stderr.text
    if os.geteuid() == 0:
        async with opened("bubblewrap") as lab:
            status = (await shell(lab, "cat /proc/self/status")).stdout.text
        assert "CapEff:\t0000000000000000" in status
        assert "CapBnd:\t0000000000000000" in status
        assert "NoNewPrivs:\t1" in status
