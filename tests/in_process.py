"""The command line in this process: what it parses and prints is the same, without a second for a new interpreter."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.cli import main
from assay.core.home import Home

Assay = Callable[..., subprocess.CompletedProcess[str]]


def make_caller(home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Assay:
    """Return a function that calls `main` as the console script does."""
    monkeypatch.setenv("ASSAY_HOME", str(home.root))
    monkeypatch.setenv("COLUMNS", "200")

    def call(*words: str | Path) -> subprocess.CompletedProcess[str]:
        monkeypatch.setattr(sys, "argv", ["assay", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        code = ended.value.code
        assert isinstance(code, int)
        return subprocess.CompletedProcess(words, code, printed.out, printed.err)

    return call
