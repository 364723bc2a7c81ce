"""Every command on the pages about reproducing the two papers works, on miniatures with scripted models.

Commands are run as printed, except for what makes them expensive: suites become one miniature, models a scripted one,
and budgets, seeds and environments small ones. Memory is varied instead of GPUs, and valid submissions are counted
instead of medals.
"""

import re
import shlex
from pathlib import Path

import pytest
from pages import ROOT, run_command

from assay.records import RunFolder
from command_line import Assay

MODEL = f"scripted/{Path(__file__).with_name('scripted_reproducer.py')}:answer"
MINIATURES = {"mlagentbench": "mlagentbench/feedback", "mlebench": "mlebench/spooky-author-identification"}
SMALL = {"--seeds": "1", "--steps": "1", "--time": "3m", "--environment": ""}


def commands_of(page: str) -> list[str]:
    """Return all commands in the code blocks of a page."""
    blocks = re.findall(r"^```sh\n(.*?)^```$", (ROOT / "docs" / page).read_text(), re.M | re.S)
    return [line for block in blocks for line in block.splitlines() if line.startswith("assay ")]


def suite_of(name: str) -> str:
    """Return the suite in the name of a task or a split."""
    return name.partition(":")[0].partition("/")[0]


def commands_in_tables(page: str) -> list[str]:
    """Return all complete commands in the tables of a page: those without an ellipsis."""
    rows = [line for line in (ROOT / "docs" / page).read_text().splitlines() if line.startswith("|")]
    commands = [command for row in rows for command in re.findall(r"`(assay [^`]*)`", row)]
    return [command for command in commands if "…" not in command and len(command.split()) > 2]


def shrink(command: str) -> str:
    """Return a command that does the same on a miniature, with a scripted model and a small budget."""
    words = shlex.split(command, comments=True)
    verb, shrunk = words[1], words[:2]
    index, memory = 2, "6GB"
    while index < len(words):
        word = words[index]
        value = words[index + 1] if index + 1 < len(words) else ""
        index += 1
        if word in SMALL:
            index += 1
        elif word == "--gpus":
            memory = "5GB"  # the same study of resources, on machines without GPUs
            index += 1
        elif word == "mlebench-aide-two-gpus":
            memory = "7GB"
            shrunk.append(word)
        elif word in ("-c", "--memory"):
            index += 1
        elif word == "gpus":
            shrunk.append("memory")
        elif word in ("--model", "--judge"):
            shrunk += [word, MODEL]
            index += 1
        elif word == "--role":
            shrunk += [word, f"{value.partition('=')[0]}={MODEL}"]
            index += 1
        elif (verb in ("prepare", "run", "plan", "new") or words[2] == "familiarity") and suite_of(word) in MINIATURES:
            shrunk.append(MINIATURES[suite_of(word)])
        else:
            shrunk.append(word)
    if verb == "prepare":
        shrunk.append("--synthetic")
    if verb in ("run", "plan"):
        shrunk += [
            "--variant",
            "synthetic-0",
            "--no-build",
            "--memory",
            memory,
            "--gpus",
            "0",
            "-c",
            "resources.cores=1",
        ]
        shrunk += [word for option, value in SMALL.items() if value for word in (option, value)]
    if words[1:3] in (["study", "scaling"], ["study", "familiarity"]):
        shrunk += ["--measure", "valid"]  # miniatures have no medals
    if verb == "new":
        shrunk += ["--variant", "synthetic-0", "--seeds", "1"]
    # Globs and substitutions are left to the shell.
    return " ".join(f'"{word}"' if "$(" in word else word if "*" in word else shlex.quote(word) for word in shrunk)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "runs"),
    [
        ("reproduce-mlagentbench.md", {"baseline": 1, "paper": 1, "retrieval": 1, "ablations": 2}),
        ("reproduce-mlebench.md", {"aide": 1, "cpu": 1, "two": 1, "long": 1, "obfuscated": 1, "mlab": 1, "aira": 1}),
    ],
)
def test_every_command_works_on_a_miniature(
    page: str, runs: dict[str, int], assay: Assay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks/winner.py").write_text("print(sum(range(10)))\n")
    # What a checkout of the published repository has.
    texts = tmp_path / "mle-bench/mlebench/competitions" / MINIATURES["mlebench"].partition("/")[2]
    texts.mkdir(parents=True)
    for name in ("description.md", "description_obfuscated.md"):
        (texts / name).write_text(f"Who wrote each of these sentences? They are in the {name} of Kaggle.\n")
    commands = [shrink(command) for command in commands_of(page)]
    assert len(commands) > 10
    for command in commands:
        run_command(command, assay)
    for name, count in runs.items():
        trials = list(RunFolder(tmp_path / "runs" / name).trials())
        assert len(trials) == count
        assert [trial.state.status for trial in trials] == ["done"] * count, name


@pytest.mark.parametrize("page", ["reproduce-mlagentbench.md", "reproduce-mlebench.md"])
def test_every_run_in_the_tables_is_made_on_the_page(page: str) -> None:
    outputs = {match for command in commands_of(page) for match in re.findall(r"--out (runs/\w+)", command)}
    named = set(re.findall(r"(runs/\w+)", (ROOT / "docs" / page).read_text()))
    assert named <= outputs


@pytest.mark.parametrize("page", ["reproduce-mlagentbench.md", "reproduce-mlebench.md"])
def test_every_command_in_the_tables_is_run(page: str) -> None:
    """Commands in tables may be abbreviated: a command of a block has all of their words."""
    blocks = [set(shlex.split(command, comments=True)) for command in commands_of(page)]
    placeholders = {"MODEL", "NOTEBOOKS", "TRIAL"}
    listed = commands_in_tables(page)
    assert len(listed) > 2
    assert [line for line in listed if not any(set(line.split()) - placeholders <= words for words in blocks)] == []
