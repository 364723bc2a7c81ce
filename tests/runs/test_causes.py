"""Causes of failures, retries, and the limits after which a run starts no more trials."""

import os
from pathlib import Path

import pytest

from assay.core.errors import AssayError
from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.lab.host.gpus import gpu_nodes, gpu_numbers
from assay.records import RunFolder, State
from assay.results.estimate import summarize_agents
from assay.results.frame import read_frame
from assay.runs.driver import execute_run
from assay.runs.executors.local import LocalExecutor
from assay.runs.plan import Plan
from assay.runs.retry import Allowance, Retries, Spending
from assay.tasks import Registry
from tiny_run import TESTS

FAULTY = Path(__file__).with_name("faulty.py")
NO_WAIT = ("-c", "retry_wait=0s")


def unlucky(tiny, tmp_path: Path, times: int, fault: str = "lab", *more: str, seeds: int = 1) -> list[str]:
    agent = f"{FAULTY}:Unlucky,count={tmp_path / 'count'},times={times},fault={fault}"
    return ["run", "tiny", "--agent", agent, "--seeds", str(seeds), "--out", str(tiny.out), "--quiet", *NO_WAIT, *more]


def kinds_of(tiny) -> list[str]:
    (kinds,) = tiny.events().values()
    return kinds


def test_an_infrastructure_failure_is_retried_and_the_trial_resumes_where_it_was(tiny, tmp_path):
    result = tiny.call(*unlucky(tiny, tmp_path, 2))
    assert result.returncode == 0, result.stderr
    (trial,) = tiny.folder.trials()
    assert (trial.state.status, trial.attempts) == ("done", 3)
    kinds = kinds_of(tiny)
    assert kinds.count("infrastructure_error") == 2 and kinds.count("graded") == 1
    # The only step was taken in the first attempt and replayed in the others.
    assert kinds.count("call_started") == 1


def test_after_the_last_attempt_the_trial_fails_because_of_the_infrastructure_and_can_be_resumed(tiny, tmp_path):
    result = tiny.call(*unlucky(tiny, tmp_path, 3, "lab", "--attempts", "2"))
    assert result.returncode == 1 and "1 of 1 trials could not run (failure number 2)" in result.stderr
    (trial,) = tiny.folder.trials()
    assert (trial.state.status, trial.state.cause, trial.attempts) == ("failed", "infrastructure", 2)
    assert trial.state.error_type == "LabError"
    outcomes = read_frame(tiny.folder)
    assert outcomes[0].failure == "infrastructure" and outcomes[0].success is False
    (line,) = summarize_agents(outcomes)
    assert line.success is None or line.success.count == 0
    resumed = tiny.call("resume", str(tiny.out), "--quiet", *NO_WAIT)
    assert resumed.returncode == 0, resumed.stderr
    assert (trial.state.status, trial.state.cause, trial.attempts) == ("done", None, 4)


def test_permanent_errors_are_not_retried():
    state = State(status="failed", cause="infrastructure", error_type="NotPrepared", reason="the data is gone")
    assert Retries().pause(state, 1) is None
    assert Retries().pause(state.model_copy(update={"error_type": "OSError", "reason": "no space left"}), 1) is not None


def test_waits_between_attempts_grow_and_are_longer_for_an_unavailable_provider():
    retries = Retries(attempts=12, wait=2.0, max_wait=300.0)
    lab = State(status="failed", cause="infrastructure", error_type="LabError", reason="hiccup")
    down = State(status="failed", cause="infrastructure", error_type="ModelUnavailable", reason="is overloaded")
    assert [retries.pause(lab, n) for n in (1, 2, 3, 4)] == [2.0, 4.0, 8.0, 16.0]
    assert [retries.pause(down, n) for n in (1, 2, 3, 4, 5, 6)] == [16.0, 32.0, 64.0, 128.0, 256.0, 300.0]
    assert retries.pause(down, 120) is None


def test_an_hour_of_outage_is_survived_but_a_lasting_error_is_not_retried_that_often():
    retries = Retries()
    down = State(status="failed", cause="infrastructure", error_type="ModelUnavailable", reason="is overloaded")
    pauses = [retries.pause(down, n) for n in range(1, 30)]
    assert None not in pauses and sum(pauses) > 2 * 3600
    assert retries.pause(down, 30) is None
    refused = down.model_copy(update={"error_type": "ModelError", "reason": "rejected the key"})
    assert retries.pause(refused, 2) is not None and retries.pause(refused, 3) is None


def test_a_failing_trial_does_not_block_others(tiny, tmp_path):
    words = unlucky(tiny, tmp_path, 5, "lab", "--attempts", "2")
    assert tiny.call(*words, "--agent", "starter").returncode == 1
    failed, starter = tiny.folder.trials()
    assert (failed.state.status, starter.state.status) == ("failed", "done")


def test_no_trial_starts_after_the_total_cost_limit_is_reached(tiny):
    words = ["run", "tiny", "--agent", f"{FAULTY}:Spender", "--seeds", "4", "--out", str(tiny.out), "--cores", "1"]
    result = tiny.call(*words, "--total-cost", "5", "--quiet")
    assert result.returncode == 0, result.stderr
    assert "2 trials were not started because the 5 dollars for the whole run are spent (6.00)" in result.stdout
    assert f"assay resume {tiny.out}" in result.stdout
    assert [trial.state.status for trial in tiny.folder.trials()] == ["done", "done", "waiting", "waiting"]
    assert tiny.call("resume", str(tiny.out), "--quiet").returncode == 0
    assert all(trial.state.status == "done" for trial in tiny.folder.trials())


def test_no_trial_starts_after_the_total_time_limit_is_reached():
    now = iter([100.0, 109.0, 110.0])
    spending = Spending(Allowance(time=10.0), (), now=lambda: next(now))
    assert spending.spent() is None
    assert spending.spent() == "the run's time limit (10 s) is reached"


def test_gpus_are_assigned_by_number_and_a_lab_sees_only_its_own_nodes(tmp_path):
    for name in ("nvidia0", "nvidia1", "nvidia7", "nvidiactl", "nvidia-uvm", "null"):
        (tmp_path / name).touch()
    assert gpu_numbers(tmp_path) == (0, 1, 7)
    assert [node.name for node in gpu_nodes((1, 7), tmp_path)] == ["nvidia1", "nvidia7", "nvidiactl", "nvidia-uvm"]
    assert gpu_nodes((), tmp_path) == ()


def test_a_run_that_slurm_rejects_leaves_nothing_behind(tiny, tmp_path, monkeypatch):
    program = tmp_path / "bin" / "sbatch"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho 'invalid partition' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    result = tiny.call(*tiny.run_words("starter"), "--on", "slurm")
    assert result.returncode == 1 and "Slurm rejected the jobs" in result.stderr
    assert not tiny.out.exists()


def test_a_trial_that_needs_more_gpus_than_the_machine_has_is_refused_before_it_starts(tiny, home: Home):
    words = [*tiny.run_words("starter"), "--gpus", "2"]
    result = tiny.call(*words)
    assert result.returncode == 1 and "needs 2 GPUs, but this machine has" in result.stderr
    assert not (tiny.out / "run.json").exists()  # a refused run leaves nothing behind
    task = Registry([TESTS / "tiny"]).task("tiny/coin")
    plan = Plan((task,), (("starter", {}),), resources={"gpus": 2}, tasks_folder=TESTS / "tiny")
    RunFolder(tiny.out).add(plan.trials(tiny.home))
    with pytest.raises(AssayError, match="needs 2 GPUs, but this machine has 1"):
        execute_run(RunFolder(tiny.out), LocalExecutor(home, gpus=[0]), progress=NoProgress())
