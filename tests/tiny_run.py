"""`assay run` on the tiny suite, as a process that tests can kill, starve and stop."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from assay.core.home import Home
from assay.records import RunFolder, read_events

TESTS = Path(__file__).parent
SCRIPTED = TESTS / "agents" / "scripted.py"
PATIENCE = 300.0


class TinyRun:
    """Calls of the command line on one run folder.

    Commands can be started `inside` of something, such as a namespace, where `out` is the run's folder; `root` leads
    there from here. What is in `variables` is added to their environment.
    """

    def __init__(self, home: Home, out: Path, *, inside: Sequence[str] = (), root: str = "") -> None:
        self.home, self.out = home, out
        self.variables: dict[str, str] = {}
        self._inside, self._root = list(inside), root
        self._started: list[subprocess.Popen[str]] = []

    def start(self, *words: str) -> "subprocess.Popen[str]":
        """Start the command in a session of its own, so that all of it can be killed at once."""
        settings: Mapping[str, str] = {"ASSAY_HOME": str(self.home.root), "COLUMNS": "200", **self.variables}
        process = subprocess.Popen(
            [*self._inside, sys.executable, "-m", "assay", "--tasks", str(TESTS / "tiny"), *words],
            env={**os.environ, **settings},
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
        """The words of a run of scripted agents, or of others that are named in full."""
        named = [
            word for agent in agents for word in ("--agent", f"{SCRIPTED}:{agent}" if agent[0].isupper() else agent)
        ]
        return ["run", "tiny", *named, "--seeds", str(seeds), "--time", time, "--out", str(self.out), "--quiet"]

    @property
    def folder(self) -> RunFolder:
        """The run's folder."""
        return RunFolder(Path(f"{self._root}{self.out}"))

    def events(self) -> dict[str, list[str]]:
        """The kinds of events of each trial so far."""
        paths = sorted(self.folder.path.glob("trials/*/events.jsonl"))
        return {path.parent.name: [event.kind for event in read_events(path)] for path in paths}

    def wait_until(self, process: "subprocess.Popen[str]", happened: Callable[[], bool]) -> None:
        """Return when something has happened, or the process has ended; fail rather than wait for ever."""
        deadline = time.monotonic() + PATIENCE
        while process.poll() is None and not happened():
            assert time.monotonic() < deadline, "it does not happen"
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.005)

    def close(self) -> None:
        """End what a failed test left running."""
        for process in self._started:
            if process.poll() is None:
                os.killpg(process.pid, 9)
            process.communicate()
