"""The doctor, and sandboxes that are not available."""

import os
import re
import stat
from pathlib import Path

import pytest
from inside import Open

from assay.core.errors import LabError, UsageError
from assay.core.home import Home
from assay.lab import Setup, open_lab
from assay.lab.doctor import cpu_limit_holds, diagnose
from assay.lab.interface import Sealing
from assay.lab.sandboxes import bwrap_args
from assay.lab.sandboxes.choice import choose_sandbox
from tiny_run import TinyRun


def test_a_busy_machine_is_not_mistaken_for_a_cpu_limit():
    limited = Sealing("bubblewrap", True, "none", {"cpu": "control group"}, {})
    unlimited = Sealing("bubblewrap", True, "none", {}, {"cpu": "no control group: Permission denied"})
    assert cpu_limit_holds(limited, 0.25) and not cpu_limit_holds(limited, 1.0)
    assert not cpu_limit_holds(unlimited, 0.1)


def test_the_doctor_checks_every_protection_on_this_machine(home: Home):
    findings = {finding.name: finding for finding in diagnose(home)}
    limits = {f"{limit} limit" for limit in ("memory", "processes", "disk", "cpu")}
    assert set(findings) >= {
        "sandbox",
        "sandbox landlock",
        "prlimit",
        "lab",
        "network",
        "system calls",
        "environment core",
        *limits,
    }
    for name in ("sandbox", "lab", "network", "system calls", "environment core", "memory limit", "disk limit"):
        assert findings[name].state != "missing", findings[name]
    assert all(finding.remedy for finding in findings.values() if finding.state != "ok")


@pytest.mark.anyio
async def test_missing_bubblewrap_is_reported_with_what_to_install(opened: Open, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(bwrap_args, "SYSTEM_PATH", "/nowhere")
    with pytest.raises(LabError, match="apt-get install bubblewrap"):
        async with opened():
            pass


@pytest.mark.anyio
async def test_a_kernel_without_user_namespaces_is_reported_with_the_settings_to_change(
    opened: Open, home: Home, monkeypatch: pytest.MonkeyPatch
):
    refusing = program(
        home.root / "bwrap",
        '[ "$1" = --version ] && exec echo 0.8.0; echo "bwrap: No permissions to create new namespace" >&2; exit 1',
    )
    monkeypatch.setattr(bwrap_args, "SYSTEM_PATH", str(refusing.parent))
    with pytest.raises(LabError, match=r"kernel\.unprivileged_userns_clone=1"):
        async with opened() as lab:
            await lab.run(["true"], seconds=60)


@pytest.mark.anyio
async def test_an_environment_the_lab_cannot_access_is_named(home: Home, core: Path, tmp_path: Path):
    closed = tmp_path / "closed"  # below pytest's own folder, which only its owner may pass
    (closed / "bin").mkdir(parents=True)
    (closed / "bin/python").touch()
    if os.geteuid() != 0:
        closed.chmod(0)  # only root's labs run as another user; for others it is closed only if it is so to themselves
    with pytest.raises(LabError, match="chmod o" if os.geteuid() == 0 else "is not an environment"):
        async with open_lab(home, Setup(closed)) as lab:
            await lab.run(["true"], seconds=60)
    closed.chmod(0o700)


@pytest.mark.anyio
@pytest.mark.parametrize("sandbox", ["docker", "podman"])
async def test_a_missing_container_engine_is_reported(opened: Open, sandbox: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(LabError, match=f"{sandbox} is not installed"):
        async with opened():
            pass


@pytest.mark.anyio
async def test_an_unknown_sandbox_is_a_usage_error(opened: Open):
    with pytest.raises(
        UsageError, match="no sandbox is called 'chroot'; available: bubblewrap, docker, landlock, none, podman"
    ):
        async with opened("chroot"):
            pass


@pytest.mark.anyio
async def test_a_container_is_started_with_every_restriction_and_removed(
    opened: Open, public: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    # Most test machines have no engine, so this records how one would be called.
    log = tmp_path / "calls"
    answer = (
        f'echo "$@" >> {log}; case "$1" in version) echo 1.0;; run) echo ran; exit 5;; '
        "inspect) echo true 1 exited 5;; container) exit 1;; esac"
    )
    program(tmp_path / "docker", answer)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    async with opened("docker", data=public) as lab:
        done = await lab.run(["python", "train.py"], seconds=60)
    calls = log.read_text()
    assert (done.ended, done.code, done.stdout.text) == ("memory", 5, "ran\n")
    restrictions = (
        "--network=none --read-only --cap-drop=ALL --security-opt=no-new-privileges --pids-limit= --memory= --cpus="
    )
    assert [option for option in restrictions.split() if option not in calls] == []
    assert f"source={public.resolve()},target=/workspace/data,readonly" in calls
    assert re.search("localhost/assay-lab:[0-9a-f]+ .*python train.py", calls)
    assert "rm --force" in calls.splitlines()[-2]
    assert "leaf-classification" not in calls


def program(path: Path, script: str) -> Path:
    """Write a program that every user can run."""
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    return path


@pytest.fixture
def without_namespaces(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine whose kernel refuses user namespaces and that has no container engine."""
    refusal = 'echo "bwrap: No permissions to create new namespace" >&2; exit 1'
    refusing = program(home.root / "bwrap", f'[ "$1" = --version ] && echo 0.8.0 && exit; {refusal}')
    monkeypatch.setattr(bwrap_args, "SYSTEM_PATH", str(refusing.parent))
    monkeypatch.setenv("PATH", "/nowhere")


@pytest.mark.anyio
@pytest.mark.usefixtures("without_namespaces")
async def test_the_strongest_sandbox_that_works_is_chosen_with_the_reason(opened: Open, home: Home):
    choice = choose_sandbox(home)
    assert choice.name == "landlock"
    assert "bubblewrap: this kernel does not allow user namespaces" in choice.reason
    assert "podman: podman is not installed" in choice.reason
    async with opened("auto") as lab:
        assert (lab.sealing.sandbox, lab.sealing.sealed) == ("landlock", True)
        assert {"names of files", "process ids", "stable paths"} <= set(lab.sealing.missing)
    with pytest.raises(LabError, match="no sandbox works on this machine"):
        choose_sandbox(home, "models")


def test_a_run_records_and_reports_a_weaker_sandbox(tiny: TinyRun):
    started = tiny.call(*tiny.run_words("starter"), "--sandbox", "landlock")
    assert started.returncode == 0, started.stderr
    (trial,) = tiny.folder.trials()
    assert (trial.state.status, trial.file.sandbox, trial.state.sealing.sandbox) == ("done", "landlock", "landlock")
    report = tiny.call("report", str(tiny.out))
    assert "Sealed: landlock: 1 trial ran without namespaces; not enforced: " in report.stdout
    assert tiny.call("verify", str(tiny.out), "--quiet").returncode == 0
