"""A run from elsewhere runs no code of its own on this machine, and sends nothing, unless its reader allows it."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.core.home import Home
from command_line import Assay
from tiny_run import TinyRun

CODE = """
from pathlib import Path
from assay.agents import Agent

Path({planted!r}).touch()

class Evil(Agent):
    async def work(self, bench):
        await bench.run(["python", "train.py"])
"""


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """The file that exists once the stranger's code has run, which is next to it."""
    (tmp_path / "evil.py").write_text(CODE.format(planted=str(tmp_path / "planted")))
    return tmp_path / "planted"


def make_foreign(tiny: TinyRun, edit: Callable[[dict[str, Any]], object]) -> Path:
    """Turn a finished run into an unfinished one with other settings, as if it came from somebody else."""
    (trial,) = (tiny.out / "trials").iterdir()
    content = json.loads((trial / "trial.json").read_text())
    edit(content)
    shutil.rmtree(trial)
    trial.mkdir()
    (trial / "trial.json").write_text(json.dumps(content))
    return trial


@pytest.mark.parametrize("command", [["resume"], ["run", "--again"], ["resume", "TRIAL"]], ids=" ".join)
def test_a_run_from_elsewhere_runs_its_code_only_if_it_is_trusted(tiny: TinyRun, planted: Path, command: list[str]):
    agent = f"{planted.with_name('evil.py')}:Evil"
    assert tiny.call("run", "tiny", "--agent", agent, "--out", str(tiny.out), "--quiet").returncode == 0
    planted.unlink()
    shutil.rmtree(tiny.home.planned)  # another machine's home does not know the run
    (trial,) = (tiny.out / "trials").iterdir()
    if command == ["resume"] or "TRIAL" in command:
        make_foreign(tiny, lambda content: None)
    target = [str(trial)] if "TRIAL" in command else [str(tiny.out)]
    words = [word for word in command if word != "TRIAL"] + target
    refused = tiny.call(*words)
    assert refused.returncode == 2, refused.stderr
    assert f"run the code of {planted.with_name('evil.py')} on this machine (SHA-256 " in refused.stderr
    assert not planted.exists()
    allowed = tiny.call(*words, "--trust")
    assert allowed.returncode == 0, allowed.stderr
    assert planted.exists()
    assert tiny.call("resume", str(tiny.out)).returncode == 0  # it is remembered


FOREIGN: dict[str, tuple[dict[str, Any], str]] = {
    "an address for a key": (
        {
            "agent": "shell",
            "models": {"main": "openai/gpt-4o"},
            "model_settings": {"base_url": "http://127.0.0.1:9/v1"},
        },
        "send prompts and your API key to http://127.0.0.1:9/v1",
    ),
    "no sandbox": ({"sandbox": "none"}, "on this machine itself, without a sandbox"),
    "files of the machine": ({"weights": "/etc"}, "let labs read the files in /etc"),
    "tasks with code": ({"tasks_folder": "/etc"}, "run the code of the tasks in /etc on this machine"),
    "a command on the host": (
        {"agent": "external", "settings": {"command": "true", "inside": False}},
        "run agent external on this machine itself",
    ),
}


@pytest.mark.parametrize(("changes", "risk"), FOREIGN.values(), ids=FOREIGN)
def test_what_a_run_from_elsewhere_would_do_is_named(tiny: TinyRun, changes: dict[str, Any], risk: str):
    assert tiny.call(*tiny.run_words("starter")).returncode == 0
    make_foreign(tiny, lambda content: content.update(changes))
    refused = tiny.call("resume", str(tiny.out))
    assert (refused.returncode, risk in refused.stderr) == (2, True), refused.stderr


def test_an_executor_that_a_record_names_is_not_loaded(tiny: TinyRun, planted: Path):
    assert tiny.call(*tiny.run_words("starter")).returncode == 0
    executor = {"format": "executor/1", "on": f"{planted.with_name('evil.py')}:Evil"}
    (tiny.out / "executor.json").write_text(json.dumps(executor))
    refused = tiny.call("resume", str(tiny.out))
    assert refused.returncode == 2 and "evil.py on this machine" in refused.stderr, refused.stderr
    assert not planted.exists()


def test_jobs_that_a_record_claims_to_have_are_neither_run_nor_cancelled_unasked(tiny: TinyRun):
    assert tiny.call(*tiny.run_words("starter")).returncode == 0
    trial = make_foreign(tiny, lambda content: content.update(label="another"))
    (tiny.out / "slurm").mkdir()
    (trial / "job").write_text("17")
    refused = tiny.call("resume", str(tiny.out), "--on", "slurm")
    assert refused.returncode == 2, refused.stderr
    assert "have Slurm run the jobs in" in refused.stderr and "wait for job 17 of the scheduler" in refused.stderr
    assert tiny.call("resume", str(tiny.out)).returncode == 0, "on this machine, they mean nothing"


def test_a_run_with_nothing_but_labs_needs_no_trust(tiny: TinyRun, home: Home):
    assert tiny.call(*tiny.run_words("starter")).returncode == 0
    make_foreign(tiny, lambda content: content.update(label="another"))
    resumed = tiny.call("resume", str(tiny.out))
    assert resumed.returncode == 0, resumed.stderr


@pytest.fixture
def theirs(planted: Path, tmp_path: Path) -> Path:
    """A stranger's suite, whose code shows that it has run."""
    suite = tmp_path / "theirs"
    shutil.copytree(Path(__file__).parent.parent / "tiny", suite)
    before = (suite / "coin/prepare.py").read_text()
    (suite / "coin/prepare.py").write_text(f"from pathlib import Path\nPath({str(planted)!r}).touch()\n{before}")
    return suite


@pytest.mark.parametrize("command", ["prepare tiny", "run tiny --agent starter", "audit --quick tiny", "verify RUN"])
def test_a_suite_from_elsewhere_runs_its_code_only_if_it_is_trusted(
    tiny: TinyRun, assay: Assay, planted: Path, theirs: Path, command: str
):
    assert tiny.call(*tiny.run_words("starter")).returncode == 0
    words = [str(tiny.out) if word == "RUN" else word for word in command.split()]
    refused = assay("--tasks", theirs, *words)
    assert refused.returncode == 2 and f"run the code of the tasks in {theirs}" in refused.stderr, refused.stderr
    assert not planted.exists()
    assert assay("--tasks", theirs, "tasks", "tiny").returncode == 0 and not planted.exists()
    assert assay("--trust", "--tasks", theirs, "prepare", "tiny", "--again").returncode == 0
    assert planted.exists()
    planted.unlink()
    assert assay("--tasks", theirs, "prepare", "tiny", "--again").returncode == 0  # it is remembered
    assert planted.exists()


@pytest.mark.parametrize("task", ["../beside", "/beside", "..", ""])
def test_the_tasks_of_a_suite_are_in_its_folder(assay: Assay, planted: Path, theirs: Path, task: str):
    """Otherwise a suite without code would run that of another folder, of which nobody was asked."""
    (theirs / "coin").rename(theirs.parent / "beside")
    named = str(theirs.parent / "beside") if task == "/beside" else task
    text = (theirs / "suite.toml").read_text().replace('tasks = ["coin"]', f'tasks = ["{named}"]')
    (theirs / "suite.toml").write_text(text)
    refused = assay("--tasks", theirs, "prepare", "tiny")
    assert refused.returncode == 2 and "not a file name" in refused.stderr, refused.stderr
    assert not planted.exists()


@pytest.mark.parametrize("disguise", ["none", "a link", "beside the task"])
def test_a_folder_is_audited_only_if_its_code_is_trusted(
    assay: Assay, planted: Path, theirs: Path, tmp_path: Path, disguise: str
):
    target = theirs
    if disguise == "a link":
        (theirs / "coin").rename(tmp_path / "elsewhere")
        (theirs / "coin").symlink_to(tmp_path / "elsewhere")
    elif disguise == "beside the task":
        target = theirs / "coin"
        (target / "prepare.py").rename(theirs / "hidden.py")
        (target / "prepare.py").symlink_to(theirs / "hidden.py")
    for words in (["audit", target], ["--tasks", theirs, "audit", "tiny"]):
        refused = assay(*words)
        assert refused.returncode == 2 and f"run the code of the tasks in {theirs}" in refused.stderr, refused.stderr
    assert not planted.exists()


def test_a_run_that_cannot_start_removes_nothing_but_itself(tiny: TinyRun, tmp_path: Path):
    (tmp_path / "fails.py").write_text(
        "from assay.core.errors import UsageError\ndef fails(*words, **options):\n    raise UsageError('no machine')\n"
    )
    tiny.out.mkdir()
    (tiny.out / "notes.txt").write_text("mine")
    refused = tiny.call(*tiny.run_words("starter"), "--on", f"{tmp_path / 'fails.py'}:fails")
    assert refused.returncode == 2 and "no machine" in refused.stderr, refused.stderr
    assert [path.name for path in tiny.out.iterdir()] == ["notes.txt"]
