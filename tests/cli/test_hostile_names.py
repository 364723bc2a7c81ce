"""Names of folders and damaged records of a stranger neither run commands nor stop others from being screen."""

import os
import pty
import select
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

NAMES = {
    "a command": "zz$(touch PWNED)",
    "backticks": "zz`touch PWNED`",
    "a second command": "zz; touch PWNED",
    "a pipe": "zz|touch PWNED",
    "a background command": "zz&touch PWNED",
    "quotes": "zz'; touch PWNED; '",
    "double quotes": 'zz"; touch PWNED; "',
    "redirection": "zz>PWNED",
    "a process substitution": "zz<(touch PWNED)",
    "a line break": "zz\ntouch PWNED\n",
    "a comma and a kind": "zz,plain,$(touch PWNED)",
    "a colon": "zz:$(touch PWNED)",
    "a brace": "zz{a,$(touch PWNED)}",
}


class Bash:
    """An interactive shell in which tab completes the arguments of `assay`."""

    def __init__(self) -> None:
        self._process, self._screen = pty.fork()
        if self._process == 0:
            path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
            variables = {**os.environ, "PATH": path, "TERM": "dumb", "PS1": "$ "}
            os.execvpe("bash", ["bash", "--norc", "--noprofile", "-i"], variables)
        self._steps = 0
        self.type('eval "$(assay config --completion bash)"\r')

    def type(self, keys: str) -> str:
        """Press some keys, and return what the screen shows until all they led to is over."""
        self._steps += 1
        # Bash handles keys in order: a line is completed before the return key after it is looked at.
        os.write(self._screen, keys.encode() + f"echo ST''EP {self._steps}\r".encode())
        screen = ""
        while f"STEP {self._steps}\r" not in screen:
            ready, _, _ = select.select([self._screen], [], [], 120)
            assert ready, screen
            screen += os.read(self._screen, 65_536).decode(errors="replace")
        return screen

    def close(self) -> None:
        os.close(self._screen)
        os.waitpid(self._process, 0)


@pytest.fixture(scope="module")
def bash() -> Iterator[Bash]:
    shell = Bash()
    yield shell
    shell.close()


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES.keys())
def test_completing_a_run_does_not_run_its_name(bash: Bash, tmp_path: Path, name: str):
    (tmp_path / name).mkdir()
    (tmp_path / name / "run.json").write_text("{}")
    screen = bash.type(f"cd {tmp_path}\rassay status z\t\r")
    assert not (tmp_path / "PWNED").exists(), screen
    assert {path.name for path in tmp_path.iterdir()} == {name}
    if "\n" not in name:  # such names are not completed
        assert f"{name}/run.json: " in screen, screen


def test_a_run_whose_name_looks_like_an_option_is_completed_as_a_path(bash: Bash, tmp_path: Path):
    (tmp_path / "--json").mkdir()
    (tmp_path / "--json/run.json").write_text("{}")
    screen = bash.type(f"cd {tmp_path}\rassay status ./\t\r")
    assert "error: --json/run.json: " in screen, screen


def test_a_damaged_run_does_not_keep_others_from_being_shown(tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    done = tiny.call("run", "tiny", "--agent", "starter", "--seeds", "1", "--out", "good")
    assert done.returncode == 0, done.stderr
    many = "[" + "[]," * 3_000_000 + "[]]"
    for name, content in {"text": "not JSON", "list": "[]", "many": many, "none": ""}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").write_text(content)
    for command in (["status"], ["report"], ["plan", "tiny", "--agent", "starter"]):
        done = tiny.call(*command)
        assert done.returncode == 0, (command, done.stderr)
        if command[0] != "plan":
            assert "Using the newest run: good" in done.stderr
            assert "Skipping many: many/run.json has more than 2,000,000 JSON values" in done.stderr
