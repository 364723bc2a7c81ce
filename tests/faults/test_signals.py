"""SIGTERM stops a run cleanly; SIGKILL at any moment loses nothing that is finished."""

import os
import random
import signal
from contextlib import suppress
from pathlib import Path

import pytest
from run_checks import check_complete, complete, finished

KILLS = 5
SEEDS = 3
AGENTS = 2


def written(run) -> int:
    """Return the total size of the logs in bytes."""
    return sum(path.stat().st_size for path in run.folder.path.glob("trials/*/events.jsonl"))


def children(process: int) -> list[int]:
    """Return all descendants of a process."""
    pids = []
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            pids += [child, *children(child)]
    return pids


def test_a_run_stopped_by_sigterm_keeps_every_step_and_resume_repeats_none(tiny, busy):
    process = tiny.start(*tiny.run_words(busy("Counts,steps=18"), seeds=2), "--cores", "2")
    tiny.wait_until(process, lambda: all_have(tiny, "snapshot_taken", 3, trials=2))
    process.send_signal(signal.SIGTERM)
    _, stderr = process.communicate(timeout=600)
    assert process.returncode == 130
    assert f"assay resume {tiny.out}" in stderr
    steps = {}
    for trial in tiny.folder.trials():
        assert (trial.state.status, trial.state.cause) == ("stopped", "user")
        steps[trial.path.name] = tiny.events()[trial.path.name].count("snapshot_taken")
    assert list(tiny.home.labs.iterdir()) == []
    complete(tiny)
    check_complete(tiny, 2)
    for name, kinds in tiny.events().items():
        # 19 steps in total: those with a snapshot are not repeated; one may have been interrupted.
        assert kinds.count("snapshot_taken") == 19
        assert kinds.count("call_started") - 19 in (0, 1)
        assert steps[name] >= 3


def all_have(run, kind: str, times: int, trials: int) -> bool:
    """Whether so many trials have so many events of a kind."""
    return sum(kinds.count(kind) >= times for kinds in run.events().values()) >= trials


@pytest.mark.slow
def test_a_run_killed_at_random_moments_is_complete_in_the_end(tiny, busy):
    chance = random.Random(7)
    words = [*tiny.run_words(busy("Counts"), "starter", seeds=SEEDS), "--cores", "2"]
    before: dict[str, bytes] = {}
    for _ in range(KILLS):
        begun = (tiny.out / "run.json").exists()
        process = tiny.start(*(["resume", str(tiny.out), "--quiet"] if begun else words))
        goal = written(tiny) + chance.choice([0, 1, chance.randrange(3000)])
        tiny.wait_until(process, lambda goal=goal: (tiny.out / "run.json").exists() and written(tiny) >= goal)
        victim = chance.choice(["everything", "the run", "a process of it"])
        if process.poll() is None and victim == "a process of it" and (pids := children(process.pid)):
            # The run continues without it, so it is killed too.
            kill(chance.choice(pids))
        if process.poll() is None:
            (os.kill if victim == "the run" else os.killpg)(process.pid, signal.SIGKILL)
        process.communicate()
        after = finished(tiny)
        assert {name: after.get(name) for name in before} == before
        before = after
    complete(tiny, *words)
    check_complete(tiny, AGENTS * SEEDS)
    after = finished(tiny)
    assert {name: after[name] for name in before} == before


def kill(process: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


def test_a_trial_whose_process_is_told_to_end_is_not_taken_for_finished(tiny, busy, tmp_path):
    """As when the job of a cluster is killed or cancelled: the run must not end as if it were complete."""
    agent = busy(f"StopsOnce,marker={tmp_path / 'marker'},number={signal.SIGTERM.value}")
    ended = tiny.call(*tiny.run_words(agent), in_process=False)
    assert ended.returncode == 1, ended.stderr
    assert "1 of 1 trials were stopped from outside; to continue, run: assay resume" in ended.stderr
    resumed = tiny.call("resume", str(tiny.out), "--quiet")
    assert resumed.returncode == 0, resumed.stderr
    check_complete(tiny, 1)
