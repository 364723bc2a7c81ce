"""Code that does not end, a stopped sandbox, a hung trial: each is killed, and the run continues."""

import os
import signal
from pathlib import Path

import pytest
from run_checks import check_complete, workspace

from assay.core.disk import random_token
from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.runs.driver import execute_run
from assay.runs.executors.local import LocalExecutor
from assay.runs.plan import Plan
from assay.runs.retry import Retries
from assay.tasks import Registry

TINY = Path(__file__).parent.parent / "tiny"
IGNORES_SIGNALS = "trap '' TERM INT HUP QUIT; while :; do sleep 1; done"


def processes_with(word: str) -> list[int]:
    """Return the processes of this machine that have a word in their command line."""
    pids = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                words = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            if word.encode() in words and b"assay" not in words:
                pids.append(int(folder.name))
    return pids


def is_asleep(process: int) -> bool:
    """Whether a process runs `sleep`."""
    try:
        return Path(f"/proc/{process}/comm").read_text() == "sleep\n"
    except OSError:
        return False


def test_a_command_that_ignores_signals_ends_at_its_time_limit(tiny, busy):
    result = tiny.call(*tiny.run_words(busy(f"RunsTooLong,command={IGNORES_SIGNALS}")))
    assert result.returncode == 0, result.stderr
    check_complete(tiny, 1)
    (trial,) = tiny.folder.trials()
    assert workspace(trial)["ended.txt"] == "time\n"


def test_a_stopped_sandbox_ends_at_its_time_limit(tiny, busy):
    word = f"1{int(random_token(), 16)}"
    process = tiny.start(*tiny.run_words(busy(f"RunsTooLong,command=sleep {word}; true,seconds=20")))
    # At least three: bwrap, and in the sandbox a shell and its command.
    tiny.wait_until(process, lambda: any(is_asleep(pid) for pid in processes_with(word)))
    stopped = processes_with(word)
    assert len(stopped) >= 3
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    _, stderr = process.communicate(timeout=600)
    (trial,) = tiny.folder.trials()
    assert process.returncode == 0, stderr
    check_complete(tiny, 1)
    assert workspace(trial)["ended.txt"] == "time\n"
    assert processes_with(word) == []


@pytest.mark.slow
def test_a_hung_trial_process_is_killed_after_its_time_limit_and_the_trial_resumes(tiny, busy, home: Home, tmp_path):
    agent = (busy("StopsOnce"), {"marker": str(tmp_path / "marker")})
    task = Registry([TINY]).task("tiny/coin")
    tiny.folder.add(Plan((task,), (agent,), budget={"time": 10.0}, tasks_folder=TINY).trials(home))
    execute_run(
        tiny.folder,
        LocalExecutor(home, overdue=5.0),
        progress=NoProgress(),
        retries=Retries(wait=0.0, overdue=5.0),
    )
    check_complete(tiny, 1)
    (trial,) = tiny.folder.trials()
    assert workspace(trial)["after.txt"] == "continued\n"
    assert tiny.events()[trial.path.name].count("started") == 2
