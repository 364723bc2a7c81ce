"""What tests of records share: a finished run of the tiny suite, made once and copied for each test."""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from assay.core.home import Home
from assay.records import RunFolder, TrialFolder
from assay.tasks import Registry
from command_line import Assay, Done
from forging import Forger
from tiny_run import TinyRun, prepare_tiny

TINY = Path(__file__).parent.parent / "tiny"


@dataclass(frozen=True)
class Finished:
    """A finished run, and the home it was made in."""

    home: Home
    run: RunFolder
    assay: Callable[..., Done]
    """The command line, in the run's own home and in this process."""

    @property
    def forger(self) -> Forger:
        """Who tampers with it."""
        return Forger(self.run, self.home, Registry([TINY]))

    @property
    def trials(self) -> list[TrialFolder]:
        """Its trials: in turns of the starter and of an agent that guesses."""
        return list(self.run.trials())


@pytest.fixture(scope="session")
def original(shared_home: Callable[[str, Callable[[Home], None]], Home]) -> Home:
    """A home with the run itself in `run`, which all workers share and tests must not change."""

    def fill(home: Home) -> None:
        prepare_tiny(home)
        agents = ["--agent", "starter", "--agent", f"{Path(__file__).with_name('guessing.py')}:Guesses"]
        run = home.root / "run"
        result = TinyRun(home, run).call("run", "tiny", *agents, "--seeds", "2", "--out", str(run))
        assert result.returncode == 0, result.stderr

    return shared_home("finished-run", fill)


@pytest.fixture(scope="session")
def conversations_home(shared_home: Callable[[str, Callable[[Home], None]], Home]) -> Home:
    """A home with a run of the shell agent in `run`, whose replies come from a script."""

    def fill(home: Home) -> None:
        prepare_tiny(home)
        commands = [f"echo step {number}: {'train and look at it ' * 20}; python train.py" for number in range(4)]
        replies = [{"tool_calls": [{"name": "bash", "arguments": {"command": text}}]} for text in (*commands, "submit")]
        (home.root / "replies.json").write_text(json.dumps(replies))
        run, model = home.root / "run", f"scripted/{home.root / 'replies.json'}"
        words = ("--agent", "shell", "--model", model, "--seeds", "2", "--out", str(run))
        result = TinyRun(home, run).call("run", "tiny", *words)
        assert result.returncode == 0, result.stderr

    return shared_home("conversations", fill)


@pytest.fixture
def conversations(conversations_home: Home, tmp_path: Path, assay: Assay) -> Finished:
    """A copy of a run with a model, to be tampered with."""
    shutil.copytree(conversations_home.root / "run", tmp_path / "conversations")
    call = partial(assay, "--tasks", TINY, home=conversations_home)
    return Finished(conversations_home, RunFolder(tmp_path / "conversations"), call)


@pytest.fixture
def finished(original: Home, tmp_path: Path, assay: Assay) -> Finished:
    """A copy of the run, to be tampered with."""
    shutil.copytree(original.root / "run", tmp_path / "run")
    call = partial(assay, "--tasks", TINY, home=original)
    return Finished(original, RunFolder(tmp_path / "run"), call)
