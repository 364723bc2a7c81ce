"""What tests of records share: a finished run of the tiny suite, made once and copied for each test."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from assay.core.home import Home
from assay.lab.host import slots
from assay.records import RunFolder, TrialFolder

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


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Finished]:
    """The run itself, which tests must not change."""
    root = Path(tempfile.mkdtemp(prefix="assay-test-", dir="/var/tmp"))
    root.chmod(0o755)
    (root / "environments").symlink_to(Home.default().environments)
    made = Finished(Home(root), RunFolder(tmp_path_factory.mktemp("original") / "run"))
    agents = ["--agent", "starter", "--agent", f"{Path(__file__).with_name('guessing.py')}:Guesses"]
    for words in (["prepare", "tiny"], ["run", "tiny", *agents, "--seeds", "2", "--out", str(made.run.path)]):
        result = made.assay(*words)
        assert result.returncode == 0, result.stderr
    yield made
    slots.sweep(made.home)
    shutil.rmtree(root)


@pytest.fixture
def finished(original: Finished, tmp_path: Path) -> Finished:
    """A copy of the run, to be tampered with."""
    shutil.copytree(original.run.path, tmp_path / "run")
    return Finished(original.home, RunFolder(tmp_path / "run"))
