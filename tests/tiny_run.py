"""Runs of the tiny suite, in this process or in one that tests can kill, starve and stop."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.data import prepare
from assay.records import RunFolder, TrialFolder, read_events
from assay.records.signature import run_digest
from assay.tasks import Registry
from assay.verification.run import verify_run
from command_line import Assay

TESTS = Path(__file__).parent
SCRIPTED = TESTS / "agents" / "simple_agents.py"
PATIENCE = 300.0


def prepare_tiny(home: Home) -> None:
    """Prepare the tiny suite, without starting a process."""
    prepare(home, Registry([TESTS / "tiny"]).task("tiny/coin"), progress=NoProgress())


def check_verified(out: Path, home: Home) -> None:
    """Check that an honest run of the tiny suite is consistent, without a doubt."""
    run = RunFolder(out)
    verification = verify_run(run, run_digest(run), Registry([TESTS / "tiny"]), home)
    assert verification.grade == "consistent", verification.findings


class TinyRun:
    """The command line on one run folder.

    `assay` runs commands in this process that the test only waits for. `inside` is a command prefix, such as one that
    enters a namespace in which `out` is the run folder; `root` is the path under which the test sees that namespace's
    files. `variables` are added to the environment of new processes.
    """

    def __init__(
        self, home: Home, out: Path, *, assay: Assay | None = None, inside: Sequence[str] = (), root: str = ""
    ) -> None:
        self.home, self.out, self.assay = home, out, assay
        self.variables: dict[str, str] = {}
        self._inside, self._root = list(inside), root
        self._started: list[subprocess.Popen[str]] = []

    def start(self, *words: str) -> "subprocess.Popen[str]":
        """Start a command in a new session, so that all its processes can be killed at once."""
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

    def call(self, *words: str, in_process: bool = True) -> "subprocess.CompletedProcess[str]":
        """Run a command and wait for it, in this process if there is a command line for that."""
        if in_process and self.assay and not self._inside:
            return self.assay("--tasks", TESTS / "tiny", *words)
        process = self.start(*words)
        stdout, stderr = process.communicate(timeout=600)
        return subprocess.CompletedProcess(words, process.returncode, stdout, stderr)

    def run_words(self, *agents: str, seeds: int = 1, time: str = "60s") -> list[str]:
        """Return the arguments of `assay run` for scripted agents (capitalized) or registered ones."""
        named = [
            word for agent in agents for word in ("--agent", f"{SCRIPTED}:{agent}" if agent[0].isupper() else agent)
        ]
        return ["run", "tiny", *named, "--seeds", str(seeds), "--time", time, "--out", str(self.out), "--quiet"]

    @property
    def folder(self) -> RunFolder:
        """The run folder."""
        return RunFolder(Path(f"{self._root}{self.out}"))

    def events(self) -> dict[str, list[str]]:
        """Return the kinds of events of each trial so far."""
        folders = [TrialFolder(path) for path in sorted(self.folder.path.glob("trials/*"))]
        return {
            folder.path.name: [event.kind for event in read_events(folder.events)]
            for folder in folders
            if folder.has_log
        }

    def wait_until(
        self, process: "subprocess.Popen[str]", happened: Callable[[], bool], *, interval: float = 0.005
    ) -> None:
        """Wait until a condition holds or the process has ended; fail rather than wait forever.

        A longer interval saves work where the condition takes long to check, and nothing is missed in between.
        """
        deadline = time.monotonic() + PATIENCE
        while process.poll() is None and not happened():
            assert time.monotonic() < deadline, "the condition never held"
            with suppress(subprocess.TimeoutExpired):
                process.wait(interval)

    def close(self) -> None:
        """Kill what a failed test left running."""
        for process in self._started:
            if process.poll() is None:
                os.killpg(process.pid, 9)
            process.communicate()
