"""The command line as tests call it, in this process or in one of its own."""

import os
import subprocess
import sys
from multiprocessing import forkserver
from pathlib import Path

import pytest

from assay.cli import main
from assay.core.home import Home
from assay.models.client import modules_to_preload

STARTS_TRIALS = {"run", "resume", "study", "try"}

Done = subprocess.CompletedProcess[str]


class Assay:
    """Calls `assay` on a home and captures its output.

    By default the command runs in this process: what it parses and prints is the same, without a second for a new
    interpreter.
    """

    def __init__(self, home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.home, self._monkeypatch, self._capsys = home, monkeypatch, capsys
        monkeypatch.setenv("ASSAY_HOME", str(home.root))
        monkeypatch.setenv("COLUMNS", "200")

    def __call__(self, *words: str | Path, home: Home | None = None, in_process: bool = True) -> Done:
        """Run a command with these arguments on the test's own home, or on another one."""
        home = home or self.home
        if not in_process:
            return run_assay(home, *words)
        self._monkeypatch.setenv("ASSAY_HOME", str(home.root))
        if not STARTS_TRIALS.isdisjoint(map(str, words)):
            start_fork_server()
        self._monkeypatch.setattr(sys, "argv", ["assay", *map(str, words)])
        self._capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        printed = self._capsys.readouterr()
        code = ended.value.code
        assert isinstance(code, int)
        return subprocess.CompletedProcess(words, code, printed.out, printed.err)


def run_assay(home: Home, *words: str | Path) -> Done:
    """Run a command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "assay", *map(str, words)],
        env=os.environ | {"ASSAY_HOME": str(home.root), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=600,
    )


def start_fork_server() -> None:
    """Start the server that all trials of this process are forked from, if there is none yet.

    It imports what any trial needs. The server of a first run without models would leave it to each trial of later runs
    to import their clients, which takes seconds.
    """
    models = modules_to_preload(["openai/any"])
    forkserver.set_forkserver_preload([*models, "assay.runs.executors.local", "assay.runs.preload"])
    with pytest.MonkeyPatch.context() as patch:
        # Trials have the environment of the server. This is the key that the test server in tests/models accepts.
        patch.setenv("OPENAI_API_KEY", "valid-key")
        forkserver.ensure_running()
