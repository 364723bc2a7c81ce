"""Odd terminals, streams and settings give one sentence or replacement characters, never a traceback."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from assay.core.home import Home

ASSAY = [sys.executable, "-m", "assay"]


def call(*words: object, home: Path | str, **variables: str) -> subprocess.CompletedProcess[bytes]:
    """Run the command line with these environment variables and few others."""
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "ASSAY_HOME": str(home), **variables}
    return subprocess.run([*ASSAY, *map(str, words)], env=env, capture_output=True)


@pytest.mark.parametrize(
    "variables",
    [
        {"PYTHONIOENCODING": "ascii"},
        {"PYTHONIOENCODING": "latin-1"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ],
    ids=["ascii", "latin-1", "c-locale"],
)
@pytest.mark.parametrize(
    "words", [["tasks"], ["tasks", "pocket/house-price"], ["run", "--help"], ["agents"]], ids=" ".join
)
def test_an_encoding_that_lacks_characters_prints_replacements(home: Home, variables, words):
    result = call(*words, home=home.root, **variables)
    assert result.returncode == 0, result.stderr
    assert b"Traceback" not in result.stderr
    assert result.stdout


@pytest.mark.parametrize(
    ("redirection", "code", "message"),
    [(">&-", 1, "error: Cannot write to standard output: it is closed\n"), ("2>&-", 0, ""), (">&- 2>&-", 1, "")],
)
def test_closed_streams(home: Home, redirection, code, message):
    command = f"exec {sys.executable} -m assay tasks pocket {redirection}"
    env = {"PATH": os.environ["PATH"], "ASSAY_HOME": str(home.root)}
    result = subprocess.run(["bash", "-c", command], env=env, capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (code, message)


def test_output_to_a_full_disk_is_an_error(home: Home):
    command = f"exec {sys.executable} -m assay tasks pocket > /dev/full"
    env = {"PATH": os.environ["PATH"], "ASSAY_HOME": str(home.root)}
    result = subprocess.run(["bash", "-c", command], env=env, capture_output=True, text=True)
    assert result.returncode == 1
    assert "No space left on device" in result.stderr and "Traceback" not in result.stderr


@pytest.mark.parametrize("path", ["{tmp}/file", "{tmp}/file/below", "/dev/null", "/proc/assay", "~no-such-user/assay"])
def test_an_unusable_home_is_named(tmp_path: Path, path):
    (tmp_path / "file").write_text("")
    result = call("prepare", "pocket/house-price", home=path.format(tmp=tmp_path))
    message = result.stderr.decode()
    assert result.returncode == 2, message
    assert "Traceback" not in message
    assert message.splitlines()[-1].startswith(("error: Cannot use", "error: Cannot expand"))


@pytest.mark.parametrize("content", ["file", "folder", "binary"])
def test_an_unreadable_user_configuration_is_named(home: Home, tmp_path: Path, content):
    """`XDG_CONFIG_HOME` is a file, `config.toml` is a folder, or not text."""
    config = tmp_path / "config"
    if content == "file":
        config.write_text("")
    elif content == "folder":
        (config / "assay" / "config.toml").mkdir(parents=True)
    else:
        (config / "assay").mkdir(parents=True)
        (config / "assay" / "config.toml").write_bytes(b"\xff\xfe\x00")
    result = call("plan", "pocket/digits", "--agent", "starter", home=home.root, XDG_CONFIG_HOME=str(config))
    message = result.stderr.decode()
    assert "Traceback" not in message
    assert (result.returncode == 2 and "is not TOML" in message) if content == "binary" else result.returncode == 0


def test_a_missing_home_folder_of_the_user_does_not_matter(home: Home):
    env = {"PATH": os.environ["PATH"], "ASSAY_HOME": str(home.root)}
    result = subprocess.run([*ASSAY, "tasks", "pocket"], env=env, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


ESCAPES = "\x1b]0;owned\x07\x1b[2J\u202e\x9b31m"


def test_control_sequences_of_a_run_never_reach_the_terminal(assay, tmp_path: Path):
    run = tmp_path / "run"
    run.mkdir()
    content = {"format": "run/1", "created_at": "2026-01-01T00:00:00+00:00", "trials": [], ESCAPES: 1}
    (run / "run.json").write_text(json.dumps(content, ensure_ascii=False), "utf-8")
    for words in (
        ["status", run],
        ["report", run],
        ["verify", run],
        ["export", "--sign", run],
        ["report", run, "--csv"],
    ):
        result = assay(*words)
        output = result.stdout + result.stderr
        assert "Traceback" not in output
        assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(output), words


def test_control_sequences_of_a_suite_never_reach_the_terminal(assay, tmp_path: Path):
    suite = tmp_path / "suite"
    suite.mkdir()
    title = json.dumps(ESCAPES)[1:-1]  # the escapes of JSON are those of TOML
    lines = ['format = "suite/1"', 'name = "mine"', f'title = "{title}"', 'editions = ["v1"]', "tasks = []"]
    (suite / "suite.toml").write_text("\n".join(lines))
    result = assay("--tasks", suite, "tasks", "mine")
    assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(result.stdout + result.stderr)


def every_command(command: click.Command, *path: str) -> Iterator[tuple[str, ...]]:
    """Yield the words of this command and of all below it."""
    yield path
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below
            yield from every_command(below, *path, name)


def test_every_command_has_help_with_an_example_in_80_columns():
    from click.testing import CliRunner

    from assay.cli import assay

    for path in every_command(assay):
        result = CliRunner().invoke(assay, [*path, "--help"], terminal_width=80)
        assert result.exit_code == 0
        example = " ".join(["assay", *path]) if path != ("agents",) else "assay run"
        assert "Examples:" in result.output and f"  {example} " in result.output.replace("\n", " \n"), path
        assert max(map(len, result.output.splitlines())) <= 80, path


@pytest.mark.parametrize(
    ("name", "hint"),
    [("lsit", "ls"), ("xyzzy", None), ("taks", "tasks"), ("comapre", "compare"), ("reprot", "report")],
)
def test_an_unknown_command_gets_a_suggestion(assay, name, hint):
    result = assay(name)
    message = result.stderr
    assert result.returncode == 2 and f"No such command '{name}'." in message
    assert (f"Did you mean '{hint}'?" in message) if hint else "Did you mean" not in message
    assert "Try 'assay --help' for help." in message
