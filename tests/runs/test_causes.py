"""Whose fault a failure is, what is tried again, and when a run stops beginning trials."""

from pathlib import Path

import pytest

from assay.core.errors import AssayError
from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.lab.host.gpus import gpu_nodes, gpu_numbers
from assay.records import RunFolder, State
from assay.results.collect import collect_outcomes
from assay.results.statistics import summarize_standings
from assay.runs.driver import execute_run
from assay.runs.executors.local import Local
from assay.runs.retry import Allowance, Retries, Spending

FAULTY = Path(__file__).with_name("faulty.py")
QUICK = ("-c", "retry_wait=0s")


def unlucky(tiny, tmp_path: Path, times: int, fault: str = "lab", *more: str, seeds: int = 1) -> list[str]:
    agent = f"{FAULTY}:Unlucky,count={tmp_path / 'count'},times={times},fault={fault}"
    return ["run", "tiny", "--agent", agent, "--seeds", str(seeds), "--out", str(tiny.out), "--quiet", *QUICK, *more]


def kinds_of(tiny) -> list[str]:
    (kinds,) = tiny.events().values()
    return kinds


def test_what_the_surroundings_fail_is_tried_again_and_goes_on_where_it_was(tiny, tmp_path):
    result = tiny.call(*unlucky(tiny, tmp_path, 2))
    assert result.returncode == 0, result.stderr
    (trial,) = tiny.folder.trials()
    assert (trial.state.status, trial.attempts) == ("done", 3)
    kinds = kinds_of(tiny)
    assert kinds.count("infrastructure_error") == 2 and kinds.count("graded") == 1
    # The one step was done in the first attempt, and played back in the others.
    assert kinds.count("call_started") == 1


def test_after_the_last_attempt_it_is_a_failure_of_the_infrastructure_and_resume_tries_again(tiny, tmp_path):
    result = tiny.call(*unlucky(tiny, tmp_path, 3, "lab", "--attempts", "2"))
    assert result.returncode == 1 and "1 of 1 trials could not run (LabError: out of order" in result.stderr
    (trial,) = tiny.folder.trials()
    assert (trial.state.status, trial.state.cause, trial.attempts) == ("failed", "infrastructure", 2)
    outcomes = collect_outcomes(tiny.folder)
    assert outcomes[0].failure == "infrastructure" and outcomes[0].success is False
    (line,) = summarize_standings(outcomes)
    assert line.success is None or line.success.count == 0
    resumed = tiny.call("resume", str(tiny.out), "--quiet", *QUICK)
    assert resumed.returncode == 0, resumed.stderr
    assert (trial.state.status, trial.state.cause, trial.attempts) == ("done", None, 4)


def test_what_another_attempt_cannot_mend_is_not_tried_again():
    state = State(status="failed", cause="infrastructure", why="NotPrepared: the data is gone")
    assert Retries().pause(state, 1) is None
    assert Retries().pause(state.model_copy(update={"why": "OSError: no space left"}), 1) is not None


def test_pauses_grow_to_minutes_and_are_longer_for_a_provider_that_is_down():
    retries = Retries(attempts=12, wait=2.0, max_wait=300.0)
    lab = State(status="failed", cause="infrastructure", why="LabError: hiccup")
    down = State(status="failed", cause="infrastructure", why="ModelUnavailable: is out of order")
    assert [retries.pause(lab, n) for n in (1, 2, 3, 4)] == [2.0, 4.0, 8.0, 16.0]
    assert [retries.pause(down, n) for n in (1, 2, 3, 4, 5, 6)] == [16.0, 32.0, 64.0, 128.0, 256.0, 300.0]
    assert retries.pause(down, 120) is None


def test_an_outage_of_an_hour_is_waited_out_and_a_fault_that_stays_is_not():
    retries = Retries()
    down = State(status="failed", cause="infrastructure", why="ModelUnavailable: is out of order")
    pauses = [retries.pause(down, n) for n in range(1, 30)]
    assert None not in pauses and sum(pauses) > 2 * 3600
    assert retries.pause(down, 30) is None
    refused = down.model_copy(update={"why": "ModelError: refuses the key"})
    assert retries.pause(refused, 2) is not None and retries.pause(refused, 3) is None


def test_one_trials_bad_luck_holds_up_no_other(tiny, tmp_path):
    words = unlucky(tiny, tmp_path, 5, "lab", "--attempts", "2")
    assert tiny.call(*words, "--agent", "starter").returncode == 1
    failed, starter = tiny.folder.trials()
    assert (failed.state.status, starter.state.status) == ("failed", "done")


def test_no_trial_is_begun_once_the_money_for_all_is_spent(tiny):
    words = ["run", "tiny", "--agent", f"{FAULTY}:Spender", "--seeds", "4", "--out", str(tiny.out), "--cores", "1"]
    result = tiny.call(*words, "--total-cost", "5", "--quiet")
    assert result.returncode == 0, result.stderr
    assert "2 trials were not started because the 5 dollars for the whole run are spent (6.00)" in result.stdout
    assert f"assay resume {tiny.out}" in result.stdout
    assert [trial.state.status for trial in tiny.folder.trials()] == ["done", "done", "waiting", "waiting"]
    assert tiny.call("resume", str(tiny.out), "--quiet").returncode == 0
    assert all(trial.state.status == "done" for trial in tiny.folder.trials())


def test_no_trial_is_begun_once_the_time_for_all_is_over():
    now = iter([100.0, 109.0, 110.0])
    spending = Spending(Allowance(time=10.0), (), now=lambda: next(now))
    assert spending.spent() is None
    assert spending.spent() == "the 10 seconds for the whole run are over"


def test_gpus_are_given_by_number_and_a_lab_gets_the_nodes_of_its_own(tmp_path):
    for name in ("nvidia0", "nvidia1", "nvidia7", "nvidiactl", "nvidia-uvm", "null"):
        (tmp_path / name).touch()
    assert gpu_numbers(tmp_path) == (0, 1, 7)
    assert [node.name for node in gpu_nodes((1, 7), tmp_path)] == ["nvidia1", "nvidia7", "nvidiactl", "nvidia-uvm"]
    assert gpu_nodes((), tmp_path) == ()


def test_a_trial_that_needs_more_gpus_than_there_are_is_refused_before_anything_starts(tiny, home: Home):
    words = [*tiny.run_words("starter"), "--gpus", "2"]
    result = tiny.call(*words)
    assert result.returncode == 1 and "needs 2 GPUs, but this machine has" in result.stderr
    (trial,) = tiny.folder.trials()
    assert trial.file.resources.gpus == 2 and trial.state.status == "waiting"
    with pytest.raises(AssayError, match="needs 2 GPUs, but this machine has 1"):
        execute_run(RunFolder(tiny.out), Local(home, gpus=[0]), progress=NoProgress())
