"""What new users see when something is missing that cannot be installed for them, and how packages are installed."""

import fcntl
import os
import struct
import sys
import termios
from pathlib import Path

import pytest

from assay.tasks import load_plugin

install = load_plugin(Path(__file__).parents[2] / "tools" / "install.py")


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """Return a function that adds a shell script to an otherwise empty PATH."""

    def add(name, script):
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)

    monkeypatch.setenv("PATH", str(tmp_path))
    return add


@pytest.mark.parametrize("sudo", [None, "exit 1"], ids=["no-sudo", "sudo-refuses"])
def test_missing_system_packages_are_named_in_a_command_to_run(sudo, programs, monkeypatch, capsys):
    programs("apt-get", "exit 9")
    if sudo:
        programs("sudo", sudo)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert install.main("test") == 1
    assert "sudo apt-get install bubblewrap chromium" in capsys.readouterr().err


def test_uv_is_preferred_and_pip_is_the_fallback(programs):
    (with_pip,) = install.install_package("agents")[-1]
    assert with_pip[:3] == [sys.executable, "-m", "pip"]
    programs("uv", "exit 0")
    assert [command[0] for command in install.install_package("agents")[-1]] == ["uv", sys.executable]


def test_a_failed_installer_falls_back_to_the_next_and_says_so():
    fails, works = [sys.executable, "-c", "print('no index'); exit(3)"], [sys.executable, "-c", "print('Installed')"]
    job = install.Job("package", [[fails, works]])
    job.run()
    assert job.exit_code == 0
    assert "no index" in job.notes[0]


def test_a_job_stops_at_the_first_step_that_fails():
    fails = [sys.executable, "-c", "exit(3)"]
    job = install.Job("package", [[fails], [[sys.executable, "-c", "print('not reached')"]]])
    job.run()
    assert job.exit_code == 3
    assert "not reached" not in job.output


def test_progress_bars_and_warnings_of_installers_are_not_shown_in_ours():
    output = ["Downloading numpy.whl (18 MB)", "   ━━━━━━━━━━ 18/18 MB 9 MB/s", "WARNING: Location is ignored"]
    assert install.Job("package", [], output=output).activity == "Downloading numpy.whl (18 MB)"


def test_bars_are_never_longer_than_the_terminal(monkeypatch):
    main_end, terminal = os.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
    with os.fdopen(terminal, "w") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        install.show_bars([install.Job("package", [], output=["Downloading a-name-that-is-long-enough-for-60"])], [])
        monkeypatch.undo()
        output = ""
        while "package" not in output or not output.endswith("\n"):
            output += os.read(main_end, 4096).decode()
    os.close(main_end)
    (line,) = [line.rpartition("\033[K")[2] for line in output.splitlines() if "package" in line]
    assert "0 s  Do" in line and len(line) < 60
