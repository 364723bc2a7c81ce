"""The command line in this process: what it parses and prints is the same, without a second for a new interpreter."""

import subprocess
import sys
from collections.abc import Callable
from multiprocessing import forkserver
from pathlib import Path

import pytest

from assay.cli import main
from assay.core.home import Home
from assay.models.client import modules_to_preload

Assay = Callable[..., subprocess.CompletedProcess[str]]

STARTS_TRIALS = {"run", "resume", "study"}


def make_caller(home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Assay:
    """Return a function that calls `main` as the console script does."""
    monkeypatch.setenv("ASSAY_HOME", str(home.root))
    monkeypatch.setenv("COLUMNS", "200")

    def call(*words: str | Path) -> subprocess.CompletedProcess[str]:
        if not STARTS_TRIALS.isdisjoint(map(str, words)):
            start_fork_server()
        monkeypatch.setattr(sys, "argv", ["assay", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        code = ended.value.code
        assert isinstance(code, int)
        return subprocess.CompletedProcess(words, code, printed.out, printed.err)

    return call


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
