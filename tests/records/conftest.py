"""What tests of records share: a finished run of the tiny suite, made once and copied for each test."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from assay.core.home import Home
from assay.records import RunFolder, TrialFolder
from tiny_run import prepare_tiny

TESTS = Path(__file__).parent.parent
TINY = TESTS / "tiny"


@dataclass(frozen=True)
class Finished:
    """A finished run, and the home it was made in."""

    home: Home
    run: RunFolder

    @property
    def trials(self) -> list[TrialFolder]:
        """Its trials: in turns of the starter and of an agent that guesses."""
        return list(self.run.trials())

    def assay(self, *words: str | Path) -> "subprocess.CompletedProcess[str]":
        """The command line, in the run's own home."""
        return subprocess.run(
            [sys.executable, "-m", "assay", "--tasks", str(TINY), *map(str, words)],
            env=os.environ | {"ASSAY_HOME": str(self.home.root), "COLUMNS": "200"},
            capture_output=True,
            text=True,
            timeout=300,
        )


@pytest.fixture(scope="session")
def original(make_once: Callable[[str, Callable[[Home], None]], Home]) -> Finished:
    """The run itself, which all workers share and tests must not change."""

    def make(home: Home) -> None:
        prepare_tiny(home)
        agents = ["--agent", "starter", "--agent", f"{Path(__file__).with_name('guessing.py')}:Guesses"]
        made = finished_in(home)
        result = made.assay("run", "tiny", *agents, "--seeds", "2", "--out", made.run.path)
        assert result.returncode == 0, result.stderr

    return finished_in(make_once("finished-run", make))


def finished_in(home: Home) -> Finished:
    """The run in the home that all workers share."""
    return Finished(home, RunFolder(home.root / "run"))


@pytest.fixture
def finished(original: Finished, tmp_path: Path) -> Finished:
    """A copy of the run, to be tampered with."""
    shutil.copytree(original.run.path, tmp_path / "run")
    return Finished(original.home, RunFolder(tmp_path / "run"))
