"""Code in a lab looks for the answers, the host and the name of the task. In sandbox `none` it finds them."""

import os
import re
import socket
from pathlib import Path

import pytest
from inside import EVERY_SANDBOX, WITH_NAMESPACES, WITHOUT_ENGINE, Open, python, shell

from assay.core.home import Home

pytestmark = pytest.mark.anyio

READ = "import sys; print(open(sys.argv[1]).read())"


@EVERY_SANDBOX
async def test_reading_the_answers_by_path_fails(opened: Open, answers: Path, secret: str):
    async with opened("none") as lab:
        assert secret in (await python(lab, READ, answers)).stdout.text
    async with opened() as lab:
        read = await python(lab, READ, answers)
    assert secret not in read.stdout.text
    assert re.search("No such file|Permission denied", read.stderr.text)


@EVERY_SANDBOX
async def test_reading_the_answers_through_a_planted_link_fails(opened: Open, answers: Path, secret: str):
    plant = "import os, sys; os.symlink(sys.argv[1], 'link'); print(open('link').read())"
    async with opened("none") as lab:
        assert secret in (await python(lab, plant, answers)).stdout.text
    async with opened() as lab:
        assert secret not in (await python(lab, plant, answers)).stdout.text


@WITHOUT_ENGINE
async def test_reading_the_answers_through_proc_fails(opened: Open, answers: Path, secret: str):
    through = """
import glob, os, sys
for way in glob.glob('/proc/*/root') + glob.glob('/proc/*/cwd') + glob.glob('/proc/*/fd/*'):
    for target in (way + sys.argv[1], way + '/' + os.path.relpath(sys.argv[1], '/'), way):
        try:
            print(os.read(os.open(target, os.O_RDONLY | os.O_NONBLOCK), 100))
        except OSError:
            pass
"""
    handle = os.open(answers, os.O_RDONLY)
    try:
        async with opened("none") as lab:
            assert (
                secret in (await python(lab, through.replace("/proc/*", f"/proc/{os.getpid()}"), answers)).stdout.text
            )
        async with opened() as lab:
            assert secret not in (await python(lab, through, answers)).stdout.text
    finally:
        os.close(handle)


@EVERY_SANDBOX
async def test_the_harness_environment_is_not_seen(opened: Open, secret: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", secret)
    everywhere = "env; cat /proc/*/environ"
    async with opened("none") as lab:
        # The harness started with its own environment; what was set later is in its memory, not in /proc.
        assert "PATH=" in (await shell(lab, f"cat /proc/{os.getpid()}/environ")).stdout.text
    async with opened() as lab:
        seen = (await shell(lab, everywhere)).stdout.text
    assert secret not in seen
    assert "OPENAI_API_KEY" not in seen
    assert f"HOME={lab.paths.workspace}" in seen


@WITH_NAMESPACES
async def test_the_host_home_is_not_seen(opened: Open, secret: str, home: Home):
    file = home.root / "id_rsa"
    file.write_text(secret)
    file.chmod(0o644)
    find = "import os, sys; print([d for d in ('/root', '/home', '/var/cache', sys.argv[1]) if os.path.exists(d)])"
    async with opened("none") as lab:
        assert str(file) in (await python(lab, find, file)).stdout.text
    async with opened() as lab:
        assert (await python(lab, find, file)).stdout.text == "[]\n"


@EVERY_SANDBOX
async def test_host_processes_are_neither_seen_nor_signalled(opened: Open):
    probe = """
import os, sys
try:
    pids = [int(name) for name in os.listdir('/proc') if name.isdigit()]
except PermissionError:
    pids = [0]
try:
    os.kill(int(sys.argv[1]), 0)
    print('signalled')
except (ProcessLookupError, PermissionError):
    print('not signalled')
print(max(pids))
"""
    async with opened("none") as lab:
        assert "signalled" in (await python(lab, probe, str(os.getpid()))).stdout.text
    async with opened() as lab:
        said = (await python(lab, probe, str(os.getpid()))).stdout.text.split("\n")
    assert said[0] == "not signalled"
    assert int(said[1]) < 10


@WITHOUT_ENGINE
async def test_the_name_of_the_task_is_not_in_mounts_arguments_or_variables(opened: Open, public: Path):
    assert "leaf-classification" in str(public)
    look = "cat /proc/self/mountinfo /proc/mounts /proc/*/cmdline /proc/*/environ; env; readlink -f data; df -a"
    async with opened(data=public) as lab:
        seen = (await shell(lab, look)).stdout.text
    assert public.resolve().name in seen, "the probe must see mount paths, or it proves nothing"
    for word in ("leaf", "mlebench", "real", "private"):
        assert word not in seen


@EVERY_SANDBOX
async def test_the_assay_package_is_not_importable(opened: Open):
    tried = "import importlib.util; print(importlib.util.find_spec('assay'))"
    async with opened() as lab:
        assert (await python(lab, tried)).stdout.text == "None\n"
        system = await shell(lab, f"/usr/bin/python3 -c {tried!r} || true; find / -name 'assay*' -not -path '/proc/*'")
    assert "ModuleSpec" not in system.stdout.text
    assert "assay" not in system.stdout.text


@EVERY_SANDBOX
async def test_software_of_the_machine_owner_is_not_seen(opened: Open):
    folders = [folder for folder in map(Path, ("/usr/local", "/usr/lib/python3/dist-packages")) if folder.is_dir()]
    assert any(list(folder.iterdir()) for folder in folders), "the probe must have something to find"
    async with opened() as lab:
        assert (await shell(lab, f"find {' '.join(map(str, folders))} -mindepth 1")).stdout.text == ""


async def test_open_files_of_the_harness_are_not_inherited(opened: Open, answers: Path, secret: str):
    handle = os.open(answers, os.O_RDONLY)
    os.set_inheritable(handle, True)
    listening = socket.socket()
    listening.set_inheritable(True)
    try:
        async with opened() as lab:
            listed = await shell(lab, "ls /proc/self/fd; cat /proc/self/fd/* < /dev/null 2> /dev/null")
    finally:
        os.close(handle)
        listening.close()
    assert listed.stdout.text.split()[:4] == ["0", "1", "2", "3"]  # 3 is the listed folder itself
    assert secret not in listed.stdout.text


@EVERY_SANDBOX
async def test_the_boot_parameters_configuration_and_disks_of_the_host_are_not_seen(opened: Open):
    look = """
import glob, os
paths = [f'/proc/{name}' for name in ('cmdline', 'config.gz', 'diskstats', 'partitions')]
for path in [*paths, *glob.glob('/proc/fs/**', recursive=True)]:
    try:
        if os.path.isfile(path) and open(path, 'rb').read(1):
            print(path)
    except OSError:
        pass
"""
    async with opened("none") as lab:
        assert "/proc/cmdline" in (await python(lab, look)).stdout.text
    async with opened() as lab:
        assert (await python(lab, look)).stdout.text == ""
