"""Runs on Slurm: jobs are preempted, requeued, lose their node or driver; every trial is finished exactly once."""

import os
import signal

import pytest

from assay.records import read_events

pytestmark = pytest.mark.slow


def test_a_run_is_one_job_array(on_slurm, slurm):
    result = on_slurm.call(*on_slurm.patient("--on", "slurm", "-c", "slurm.comment=mine", trials=3, steps=1))
    assert result.returncode == 0, result.stderr
    on_slurm.check_complete(trials=3, steps=1)
    (array,) = {number.partition("_")[0] for number in slurm.submitted()}
    job = slurm.call("scontrol", "show", "job", f"{array}_0")
    assert "Comment=mine" in job and "NumCPUs=1" in job
    # One gigabyte for the lab and one for the trial's own process, in mebibytes.
    assert "mem=1908M" in job


@pytest.mark.parametrize("how", [["scontrol", "requeue"], ["scancel", "--signal=USR2"]], ids=["requeued", "preempted"])
def test_a_requeued_job_resumes_from_its_snapshot(on_slurm, slurm, how):
    process = on_slurm.start(*on_slurm.patient("--on", "slurm", trials=1))
    on_slurm.wait_half_way(process, trials=1)
    job = slurm.job_on("node1") or slurm.job_on("node2")
    assert job is not None
    slurm.call(*how, job)
    on_slurm.wait_until(process, slurm.hurry)
    on_slurm.gate.touch()
    _, stderr = process.communicate(timeout=600)
    assert process.returncode == 0, stderr
    on_slurm.check_complete(trials=1)
    (trial,) = on_slurm.folder.trials()
    events = read_events(trial.events)
    kept = [(event.epoch, event.step) for event in events if event.kind == "snapshot_taken"]
    # Each step was executed once, the first ones under the first lease and the others under the second.
    assert [step for _, step in kept] == list(range(1, 9))
    assert {epoch for epoch, _ in kept} == {1, 2}


@pytest.mark.parametrize("fault", ["daemon", "power"])
def test_a_node_that_dies_loses_nothing(on_slurm, slurm, fault):
    process = on_slurm.start(*on_slurm.patient("--on", "slurm", "-c", "resources.cores=2", trials=2))
    on_slurm.wait_half_way(process, trials=2)
    (slurm.kill_daemon if fault == "daemon" else slurm.cut_power)("node1")
    on_slurm.gate.touch()
    on_slurm.wait_until(process, slurm.hurry)
    _, stderr = process.communicate(timeout=600)
    assert process.returncode == 0, stderr
    on_slurm.check_complete(trials=2)
    epochs = sorted(
        ({event.epoch for event in read_events(trial.events)} for trial in on_slurm.folder.trials()), key=len
    )
    assert epochs == ([{1}, {1}] if fault == "daemon" else [{1}, {1, 2}])


def test_trials_survive_their_driver_and_none_is_started_twice(on_slurm, slurm):
    process = on_slurm.start(*on_slurm.patient("--on", "slurm", "-c", "resources.cores=2", trials=3))
    on_slurm.wait_half_way(process, trials=2)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    on_slurm.gate.touch()
    assert len(slurm.submitted()) == 3
    result = on_slurm.call("resume", str(on_slurm.out), "--quiet")
    assert result.returncode == 0, result.stderr
    on_slurm.check_complete(trials=3)
    assert len(slurm.submitted()) == 3
    assert [trial.attempts for trial in on_slurm.folder.trials()] == [1, 1, 1]


def test_stopping_a_run_stops_its_jobs(on_slurm, slurm):
    process = on_slurm.start(*on_slurm.patient("--on", "slurm", "-c", "resources.cores=2", trials=3))
    on_slurm.wait_half_way(process, trials=2)
    on_slurm.interrupt(process)
    _, stderr = process.communicate(timeout=600)
    assert process.returncode == 130 and f"assay resume {on_slurm.out}" in stderr
    states = sorted((trial.state.status, trial.state.cause or "") for trial in on_slurm.folder.trials())
    assert states == [("stopped", "user"), ("stopped", "user"), ("waiting", "")]
    assert slurm.call("squeue", "--noheader") == ""


def test_queued_jobs_are_cancelled_when_the_cost_limit_is_reached(on_slurm, slurm):
    words = on_slurm.patient("--on", "slurm", "-c", "resources.cores=2", "--total-cost", "2", trials=3, cost=3.0)
    process = on_slurm.start(*words)
    on_slurm.wait_half_way(process, trials=2)
    on_slurm.wait_until(process, lambda: not slurm.queued())
    on_slurm.gate.touch()
    stdout, stderr = process.communicate(timeout=600)
    assert process.returncode == 0, stderr
    assert "1 trial was not started because the 2 dollars for the whole run are spent" in stdout
    assert sorted(trial.state.status for trial in on_slurm.folder.trials()) == ["done", "done", "waiting"]
