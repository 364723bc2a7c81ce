"""Kill `assay run` at any moment: nothing finished is lost, nothing is done twice, `assay resume` completes it."""

import os
import signal

import pytest

from assay.runs.trial import run_trial

AGENTS = ("Steps", "starter")
SEEDS = 2


def kill_after(process, tiny, events: int, everything: bool, number: int = signal.SIGKILL) -> None:
    """Kill the run once its trials have written so many events, or let it end if it is faster."""
    tiny.wait_until(process, lambda: sum(map(len, tiny.events().values())) >= events)
    if process.poll() is None:
        (os.killpg if everything else os.kill)(process.pid, number)
    process.communicate()


def finished(tiny) -> dict[str, bytes]:
    """Return the log of every finished trial."""
    if not (tiny.out / "run.json").exists():
        return {}
    return {trial.path.name: trial.events.read_bytes() for trial in tiny.folder.trials() if trial.state.final}


def check_complete(tiny) -> None:
    trials = list(tiny.folder.trials())
    assert len(trials) == len(AGENTS) * SEEDS
    for trial in trials:
        assert trial.state.status == "done", trial.state
        kinds = tiny.events()[trial.path.name]
        assert kinds.count("submitted") == 1
        assert kinds.count("graded") == 1
        assert trial.grade is not None and trial.grade.valid_submission


@pytest.mark.slow
@pytest.mark.parametrize(
    ("events", "everything"),
    [(0, True), (6, False), (13, True), (22, False)],
    ids=["before-the-first-event", "driver-early", "every-process-midway", "driver-late"],
)
def test_a_run_killed_at_any_point_is_completed_by_resume(tiny, events, everything):
    words = tiny.run_words(*AGENTS, seeds=SEEDS)
    kill_after(tiny.start(*words), tiny, events, everything)
    before = finished(tiny)
    # Before run.json exists there is no run to resume; the same call starts it.
    again = tiny.call("resume", str(tiny.out)) if (tiny.out / "run.json").exists() else tiny.call(*words)
    assert again.returncode == 0, again.stderr
    check_complete(tiny)
    after = finished(tiny)
    assert {name: after[name] for name in before} == before


@pytest.mark.parametrize("everything", [False, True], ids=["driver", "every-process"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_stopped_by_a_signal_cleans_up_and_says_how_to_resume(tiny, number, everything):
    process = tiny.start(*tiny.run_words("Sleeps", time="600s"))
    tiny.wait_until(process, lambda: any("call_started" in kinds for kinds in tiny.events().values()))
    assert process.poll() is None
    # Ctrl-C in a terminal reaches every process, and the driver then signals its trials again.
    (os.killpg if everything else os.kill)(process.pid, number)
    _, stderr = process.communicate(timeout=600)
    assert process.returncode == 130
    assert stderr.count("stopped") == 1
    assert f"assay resume {tiny.out}" in stderr
    (trial,) = tiny.folder.trials()
    assert (trial.state.status, trial.state.cause) == ("stopped", "user")
    assert list(tiny.home.labs.iterdir()) == []


def test_two_concurrent_resumes_repeat_nothing(tiny):
    words = tiny.run_words(*AGENTS, seeds=SEEDS)
    kill_after(tiny.start(*words), tiny, 3, everything=True)
    both = [tiny.start("resume", str(tiny.out)) for _ in range(2)]
    for process in both:
        process.communicate(timeout=600)
    assert tiny.call("resume", str(tiny.out)).returncode == 0
    check_complete(tiny)


@pytest.mark.slow
def test_missing_derived_files_are_rebuilt_from_the_log(tiny):
    assert tiny.call(*tiny.run_words("starter")).returncode == 0
    (trial,) = tiny.folder.trials()
    lines, grade = trial.events.read_bytes().splitlines(keepends=True), trial.grade
    for kept in range(len(lines) + 1):
        trial.events.write_bytes(b"".join(lines[:kept]))
        for derived in ("state.json", "grade.json", "submission/manifest.json"):
            (trial.path / derived).unlink(missing_ok=True)
        assert tiny.call("resume", str(tiny.out), "--quiet").returncode == 0
        kinds = tiny.events()[trial.path.name]
        assert (kinds.count("submitted"), kinds.count("graded")) == (1, 1), kept
        assert trial.state.status == "done"
        assert trial.grade is not None and grade is not None and trial.grade.score == grade.score
        assert trial.grade.sealed is True
        # Once the submission is in the log, the agent does not work again.
        assert kinds.count("call_started") == (1 if kept <= 2 or kept >= 5 else 2), kept


@pytest.mark.parametrize("left", [None, b""], ids=["missing", "empty"])
def test_a_state_lost_in_a_power_cut_is_rebuilt_from_the_log(tiny, left):
    assert tiny.call(*tiny.run_words("starter")).returncode == 0
    (trial,) = tiny.folder.trials()
    before, log = trial.state, trial.events.read_bytes()
    (trial.path / "state.json").unlink()
    if left is not None:
        (trial.path / "state.json").write_bytes(left)
    assert tiny.call("resume", str(tiny.out), "--quiet").returncode == 0
    assert trial.state.model_dump(exclude={"ended_at"}) == before.model_dump(exclude={"ended_at"})
    assert trial.events.read_bytes() == log


def test_a_grade_that_cannot_be_written_to_its_file_ends_the_log_all_the_same(tiny):
    assert tiny.call(*tiny.run_words("starter")).returncode == 0
    (trial,) = tiny.folder.trials()
    log, score = trial.events.read_bytes(), trial.grade.score
    for derived in ("state.json", "grade.json"):
        (trial.path / derived).unlink()
    (trial.path / "grade.json").mkdir()
    run_trial(trial.path, tiny.home)
    assert (trial.state.status, trial.state.cause) == ("failed", "infrastructure")
    (trial.path / "grade.json").rmdir()
    assert tiny.call("resume", str(tiny.out), "--quiet").returncode == 0
    assert (trial.state.status, trial.grade.score) == ("done", score)
    assert trial.events.read_bytes() == log
    assert tiny.call("verify", str(tiny.out), "--quiet").returncode == 0


def test_a_trial_of_an_inapplicable_agent_is_not_started_again_when_its_state_is_lost(tiny):
    assert tiny.call(*tiny.run_words("Inapplicable")).returncode == 0
    (trial,) = tiny.folder.trials()
    assert trial.state.status == "inapplicable"
    log = trial.events.read_bytes()
    (trial.path / "state.json").unlink()
    assert tiny.call("resume", str(tiny.out), "--quiet").returncode == 0
    assert trial.state.status == "inapplicable"
    assert trial.events.read_bytes() == log
