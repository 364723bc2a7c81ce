"""Code that does not end, a sandbox that is held still, a trial that hangs: each is ended, and the run goes on."""

import os
import signal
from pathlib import Path

import pytest
from whole import check_whole, workspace

from assay.core.disk import random_token
from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.runs.driver import execute_run
from assay.runs.executors.local import Local
from assay.runs.plan import Plan
from assay.runs.retry import Retries
from assay.tasks import Registry

TINY = Path(__file__).parent.parent / "tiny"
DEAF = "trap '' TERM INT HUP QUIT; while :; do sleep 1; done"


def processes_with(word: str) -> list[int]:
    """The processes of this machine that have a word in their command line."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                words = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            if word.encode() in words and b"assay" not in words:
                found.append(int(folder.name))
    return found


def is_asleep(process: int) -> bool:
    """Whether a process runs `sleep`."""
    try:
        return Path(f"/proc/{process}/comm").read_text() == "sleep\n"
    except OSError:
        return False


def test_a_command_that_is_deaf_to_signals_ends_with_its_time(tiny, busy):
    result = tiny.call(*tiny.run_words(busy(f"Lingers,command={DEAF}")))
    assert result.returncode == 0, result.stderr
    check_whole(tiny, 1)
    (trial,) = tiny.folder.trials()
    assert workspace(trial)["ended.txt"] == "time\n"


def test_a_sandbox_that_is_held_still_ends_with_its_time(tiny, busy):
    word = f"1{int(random_token(), 16)}"
    process = tiny.start(*tiny.run_words(busy(f"Lingers,command=sleep {word}; true,seconds=5")))
    # Three at the least: bwrap, and in the sandbox a shell and what it runs.
    tiny.wait_until(process, lambda: any(is_asleep(one) for one in processes_with(word)))
    held = processes_with(word)
    assert len(held) >= 3
    for one in held:
        os.kill(one, signal.SIGSTOP)
    _, stderr = process.communicate(timeout=120)
    (trial,) = tiny.folder.trials()
    assert process.returncode == 0, stderr
    check_whole(tiny, 1)
    assert workspace(trial)["ended.txt"] == "time\n"
    assert processes_with(word) == []


@pytest.mark.slow
def test_a_trial_whose_process_hangs_is_ended_after_its_time_and_taken_up_again(tiny, busy, home: Home, tmp_path):
    agent = (busy("StopsOnce"), {"marker": str(tmp_path / "marker")})
    task = Registry([TINY]).task("tiny/coin")
    tiny.folder.add(Plan((task,), (agent,), time=2.0, tasks_folder=TINY).trials(home))
    execute_run(tiny.folder, Local(home, overdue=1.0), progress=NoProgress(), retries=Retries(wait=0.0, overdue=1.0))
    check_whole(tiny, 1)
    (trial,) = tiny.folder.trials()
    assert workspace(trial)["after.txt"] == "went on\n"
    assert tiny.events()[trial.path.name].count("started") == 2
