"""Labs of an ordinary user have the same protections, but memory and disk usage are polled."""

import json
import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path

import pytest
from inside import WITHOUT_ENGINE, host_processes

from assay.core.home import Home

SOURCE = Path(__file__).parents[2] / "src/assay"
USER = 12345


@pytest.fixture
def report(home: Home, core: Path, public: Path, sandbox: str) -> dict:
    """The results of all attacks in a lab of an ordinary user: another one, if the tests run as root."""
    data = home.public / public.resolve().name
    if os.geteuid() != 0:
        command, settings = [sys.executable], dict(os.environ)
    else:
        code = home.root / "code"
        shutil.copytree(SOURCE, code / "assay")
        plugins = code / "mlassay-0.dist-info"  # sandboxes are found by its entry points
        plugins.mkdir()
        (plugins / "METADATA").write_text("Metadata-Version: 2.1\nName: mlassay\nVersion: 0\n")
        (plugins / "entry_points.txt").write_text(distribution("mlassay").read_text("entry_points.txt") or "")
        for name in ("anyio", "idna", "typing_extensions"):
            module = find_spec(name)
            assert module and module.origin
            part = Path(module.origin)
            if part.name == "__init__.py":
                shutil.copytree(part.parent, code / name)
            else:
                shutil.copy(part, code)
        # The environment's own interpreter: only root may be able to access the one that runs the tests.
        command = ["setpriv", "--reuid", str(USER), "--regid", str(USER), "--clear-groups", str(core / "bin/python")]
        settings = {"PYTHONPATH": str(code), "LD_LIBRARY_PATH": str(core / "lib"), "PATH": os.environ["PATH"]}
        own = home.root / "own"
        own.mkdir()
        os.chown(own, USER, USER)
        home = Home(own)
        settings["HOME"] = str(own)
    script = home.root / "attack_script.py"
    shutil.copy(Path(__file__).with_name("attack_script.py"), script)
    script.chmod(0o644)
    done = subprocess.run(
        [*command, script, home.root, core, data, sandbox],
        env=settings,
        capture_output=True,
        text=True,
        timeout=300,
        cwd="/",
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@WITHOUT_ENGINE
def test_labs_of_an_ordinary_user_have_the_same_protections(report: dict, sandbox: str):
    assert report["uid"] != 0
    user = 1000 if sandbox == "bubblewrap" else report["uid"]
    assert report["hello"]["out"] == f"{user} id,y\n1,2\n\n"
    assert report["fill"]["ended"] == "disk", report
    assert report["eat"]["ended"] == "memory" or "MemoryError" in report["eat"]["err"], report
    assert report["eat together"]["ended"] == "memory", report
    counted = "polled" not in report["enforced"]["memory"]
    assert counted or report["eat unmapped"]["out"] == "0 -1 -1\n", report
    assert int(report["bomb"]["out"]) <= 40  # without a user namespace, others of the user may end meanwhile
    assert re.search("Read-only file system|Permission denied", report["write data"]["err"])
    assert re.search("Network is unreachable|Operation not permitted", report["connect"]["err"])
    assert report["harness"]["out"] == "" and report["own files"]["out"] == "", report
    assert not report["slowed down"]
    assert report["precious"] == ["kept", 0o600, True]
    assert report["left"]["ended"] == "exit"
    assert host_processes("7654321") == []
    assert report["time"]["ended"] == "time"
    assert report["read"] == "1"
    if sandbox == "bubblewrap":  # elsewhere, permissions of a shared user's files cannot be changed
        assert report["hide"]["ended"] in ("disk", "time"), "a folder that cannot be opened could hide files"
    assert report["left over"] == []
