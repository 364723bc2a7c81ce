"""How trials end: the cause of each failure, seeds and budgets; nothing is repeated."""

import json

import pytest


def only_trial(tiny):
    (trial,) = tiny.folder.trials()
    return trial


def test_a_starter_trial_is_graded_and_recorded(tiny):
    result = tiny.call(*tiny.run_words("starter"))
    assert result.returncode == 0, result.stderr
    trial = only_trial(tiny)
    assert trial.state.status == "done"
    assert trial.grade is not None and trial.grade.score == pytest.approx(20 / 30, abs=1e-5)
    assert trial.grade.sealed is True
    assert tiny.events()[trial.path.name] == [
        "started", "lab_opened", "call_started", "call_finished", "snapshot_taken", "submitted", "graded",
    ]  # fmt: skip


def test_the_same_run_again_does_nothing(tiny):
    assert tiny.call(*tiny.run_words("starter")).returncode == 0
    before = {path: path.stat().st_mtime_ns for path in tiny.out.rglob("*") if path.is_file()}
    assert tiny.call(*tiny.run_words("starter")).returncode == 0
    assert {path: path.stat().st_mtime_ns for path in tiny.out.rglob("*") if path.is_file()} == before


def test_more_seeds_in_the_same_folder_run_only_what_is_missing(tiny):
    assert tiny.call(*tiny.run_words("starter", seeds=1)).returncode == 0
    first = only_trial(tiny).path
    before = (first / "events.jsonl").read_bytes()
    assert tiny.call(*tiny.run_words("starter", seeds=3)).returncode == 0
    assert len(list(tiny.folder.trials())) == 3
    assert (first / "events.jsonl").read_bytes() == before


def test_a_crash_of_the_agent_is_an_agent_failure(tiny):
    assert tiny.call(*tiny.run_words("Crashes")).returncode == 0
    state = only_trial(tiny).state
    assert (state.status, state.cause) == ("failed", "agent")
    assert "nothing was submitted: 'submission.csv' does not exist" in (state.reason or "")
    assert "I forgot what I was doing" in (state.reason or "")


def test_a_missing_submission_is_an_agent_failure(tiny):
    result = tiny.call(*tiny.run_words("Idles"))
    assert result.returncode == 0
    trial = only_trial(tiny)
    assert (trial.state.status, trial.state.cause) == ("failed", "agent")
    assert trial.grade is not None and not trial.grade.submission_exists


def test_a_submitted_link_is_not_followed(tiny):
    assert tiny.call(*tiny.run_words("Links")).returncode == 0
    trial = only_trial(tiny)
    assert trial.state.status == "failed"
    assert trial.submission is None
    assert not [path for path in trial.path.rglob("*") if path.is_file() and b"root:x:0" in path.read_bytes()]


def test_the_submission_in_place_counts_when_time_runs_out(tiny):
    assert tiny.call(*tiny.run_words("Sleeps", time="5s")).returncode == 0
    trial = only_trial(tiny)
    assert trial.state.status == "done"
    assert trial.grade is not None and trial.grade.valid_submission


def test_the_submission_in_place_counts_when_steps_run_out(tiny):
    assert tiny.call(*tiny.run_words("Greedy"), "--steps", "4").returncode == 0
    trial = only_trial(tiny)
    assert (trial.state.status, trial.state.steps) == ("done", 4)


def test_a_trial_process_that_keeps_dying_is_an_infrastructure_failure(tiny):
    result = tiny.call(*tiny.run_words("KillsItself", "starter"))
    assert result.returncode == 1
    assert "could not run" in result.stderr
    killed, starter = tiny.folder.trials()
    assert (killed.state.status, killed.state.cause) == ("failed", "infrastructure")
    kinds = tiny.events()[killed.path.name]
    assert (kinds.count("started"), kinds[-1]) == (3, "infrastructure_error")
    assert tiny.call("verify", str(tiny.out)).returncode == 0
    assert starter.state.status == "done"


def test_seeds_reach_the_code_in_the_lab(tiny):
    assert tiny.call(*tiny.run_words("Steps", seeds=2)).returncode == 0
    for trial in tiny.folder.trials():
        last = sorted((trial.snapshots).rglob("*"))
        assert any(path.is_file() and path.read_bytes() == f"{trial.file.seed}\n".encode() for path in last)


def test_an_unsealed_run_is_marked_everywhere(tiny):
    result = tiny.call(*tiny.run_words("starter"), "--sandbox", "none")
    assert result.returncode == 0, result.stderr
    trial = only_trial(tiny)
    assert trial.state.sealing is not None and trial.state.sealing.sealed is False
    assert trial.grade is not None and trial.grade.sealed is False
    assert "unsealed" in result.stdout
    report = json.loads(tiny.call("report", str(tiny.out), "--json").stdout)
    assert "unsealed" in json.dumps(report) or '"sealed": false' in json.dumps(report)


def test_a_fork_continues_from_a_step_of_another_trial_and_leaves_that_unchanged(tiny):
    assert tiny.call(*tiny.run_words("starter")).returncode == 0
    parent = only_trial(tiny)
    before = parent.events.read_bytes()
    result = tiny.call("resume", str(parent.path), "--step", "1", "--quiet")
    assert result.returncode == 0, result.stderr
    old, new = tiny.folder.trials()
    assert (new.file.parent, new.file.parent_step) == (old.file.id, 1)
    assert new.state.status == "done" and new.grade is not None and parent.grade is not None
    assert new.grade.score == parent.grade.score
    # The step was replayed, not repeated: its only call is in the lines that both logs share.
    assert tiny.events()[new.path.name].count("call_started") == 1
    assert parent.events.read_bytes() == before
    wrong = tiny.call("resume", str(parent.path), "--step", "9")
    assert wrong.returncode == 2 and "has no step 9 to fork from; its steps: 1 to 1" in wrong.stderr


def test_every_step_of_a_trial_can_be_graded(tiny):
    assert tiny.call(*tiny.run_words("starter")).returncode == 0
    trial = only_trial(tiny)
    result = tiny.call("grade", str(trial.path), "--json")
    assert result.returncode == 0, result.stderr
    (step,) = json.loads(result.stdout)["rows"]
    assert trial.grade is not None
    assert (step["step"], step["valid"], step["score"]) == (1, True, trial.grade.score)


def test_a_trial_is_named_by_the_start_or_end_of_its_id(tiny):
    assert tiny.call(*tiny.run_words("starter", seeds=2)).returncode == 0
    first, second = tiny.folder.trials()
    for command in ("logs", "grade"):
        for part in (first.path.name[:-4], first.path.name[-6:]):
            assert tiny.call(command, f"{tiny.out}/{part}").returncode == 0
    vague = tiny.call("logs", f"{tiny.out}/coin")
    assert vague.returncode == 2 and f"2 trials ({first.path.name}, {second.path.name})" in vague.stderr
    wrong = tiny.call("logs", f"{tiny.out}/xyz")
    assert (
        wrong.returncode == 2
        and f"no trial matches {tiny.out}/xyz; the newest trials: {first.path.name}" in wrong.stderr
    )


def test_a_run_that_is_refused_leaves_nothing_behind(tiny):
    refused = tiny.call(*tiny.run_words("starter"), "--gpus", "99")
    assert refused.returncode == 1 and "needs 99 GPUs, but this machine has" in refused.stderr
    assert "busy" not in refused.stderr and not tiny.out.exists()
