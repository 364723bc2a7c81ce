"""A run of a task so small that it can be killed over and over."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.home import Home
from assay.records import RunFolder, read_events

TESTS = Path(__file__).parent.parent
SCRIPTED = TESTS / "agents" / "scripted.py"


class TinyRun:
    """`assay run` on the tiny suite, as a process that can be killed."""

    def __init__(self, home: Home, out: Path) -> None:
        self.home, self.out = home, out
        self._started: list[subprocess.Popen[str]] = []

    def start(self, *words: str) -> "subprocess.Popen[str]":
        """Start the command in a session of its own, so that all of it can be killed at once."""
        process = subprocess.Popen(
            [sys.executable, "-m", "assay", "--tasks", str(TESTS / "tiny"), *words],
            env=os.environ | {"ASSAY_HOME": str(self.home.root), "COLUMNS": "200"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._started.append(process)
        return process

    def call(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run the command to its end."""
        process = self.start(*words)
        stdout, stderr = process.communicate(timeout=300)
        return subprocess.CompletedProcess(words, process.returncode, stdout, stderr)

    def run_words(self, *agents: str, seeds: int = 1, time: str = "60s") -> list[str]:
        """The words of a run of scripted agents."""
        named = [
            word for agent in agents for word in ("--agent", f"{SCRIPTED}:{agent}" if agent[0].isupper() else agent)
        ]
        return ["run", "tiny", *named, "--seeds", str(seeds), "--time", time, "--out", str(self.out), "--quiet"]

    @property
    def folder(self) -> RunFolder:
        """The run's folder."""
        return RunFolder(self.out)

    def events(self) -> dict[str, list[str]]:
        """The kinds of events of each trial so far."""
        paths = sorted(self.out.glob("trials/*/events.jsonl"))
        return {path.parent.name: [event.kind for event in read_events(path)] for path in paths}

    def close(self) -> None:
        """End what a failed test left running."""
        for process in self._started:
            if process.poll() is None:
                os.killpg(process.pid, 9)
            process.communicate()


@pytest.fixture
def tiny(home: Home, tmp_path: Path) -> Iterator[TinyRun]:
    """A prepared tiny suite and a folder for its run."""
    run = TinyRun(home, tmp_path / "run")
    assert run.call("prepare", "tiny").returncode == 0
    yield run
    run.close()
