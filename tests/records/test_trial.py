"""Trial folders: identity, lease, submission."""

import hashlib
import multiprocessing
from pathlib import Path

import pytest

from assay.core.errors import RecordError
from assay.records import Clock, LeaseLost, OutOfBudget, State, TrialFolder, TrialPlan
from assay.tasks import Budget

IDENTITY = {
    "task": "pocket/house-price",
    "edition": "v1",
    "variant": "real",
    "agent": "automl",
    "settings": {"share": 0.8},
    "models": {},
    "seed": 1,
    "budget": {"time": 60.0, "steps": 5},
    "environment": "core",
    "sandbox": "bubblewrap",
}


def trial_id(**changes: object) -> str:
    return TrialPlan.model_validate(IDENTITY | changes).trial_id


@pytest.mark.parametrize(
    ("changes", "digest"),
    [
        ({}, "e56bc6617b"),
        ({"budget": {"time": 60.0, "steps": 5, "cost": 2.5}}, "e84f7f07be"),
        ({"model_settings": {"temperature": 0.5}}, "080898daa8"),
        ({"resource_overrides": {"cores": 2}}, "3194847d0e"),
        ({"describe": "own", "description": "Text"}, "1594704ab8"),
        ({"describe": "obfuscated"}, "7aad8153cd"),
        ({"hashes": {"agent": "a" * 64, "data": "d"}}, "4531ee8422"),
        ({"hashes": {"weights": "w" * 64}}, "b770b8396f"),
        ({"weights_digest": "f" * 64}, "77563037c8"),
        ({"tools": "node-1"}, "12d6943945"),
    ],
)
def test_a_trial_has_the_id_that_version_0_1_gave_it(changes, digest):
    assert trial_id(**changes) == f"house-price-automl-1-{digest}"


@pytest.mark.parametrize(
    "changes",
    [
        {"seed": 2},
        {"agent": "starter"},
        {"budget": {"time": 61.0, "steps": 5}},
        {"edition": "fixed"},
        {"variant": "synthetic-0"},
        {"environment": "torch"},
        {"settings": {"share": 0.7}},
        {"models": {"main": "openai/gpt-5"}},
        {"sandbox": "none"},
    ],
)
def test_a_trial_id_depends_on_every_setting(changes):
    assert trial_id(**changes) != trial_id()


def test_a_trial_id_does_not_depend_on_provenance_and_order():
    assert trial_id(hashes={"data": "d", "code": "c"}) == trial_id()
    assert TrialPlan.model_validate(dict(reversed(IDENTITY.items()))).trial_id == trial_id()


def test_a_trial_id_is_readable_and_a_plain_file_name():
    assert trial_id().startswith("house-price-automl-1-")
    assert "/" not in trial_id(agent="../x.py:My Agent")


def hold(path: Path, held: "multiprocessing.synchronize.Event", let_go: "multiprocessing.synchronize.Event") -> None:
    with TrialFolder(path).acquire():
        held.set()
        let_go.wait()


def test_only_one_running_process_holds_the_lease_and_a_dead_one_loses_it(tmp_path: Path):
    context = multiprocessing.get_context("spawn")
    held, let_go = context.Event(), context.Event()
    holder = context.Process(target=hold, args=(tmp_path, held, let_go))
    holder.start()
    held.wait()
    with TrialFolder(tmp_path).acquire() as lease:
        assert lease is None
    holder.kill()
    holder.join()
    with TrialFolder(tmp_path).acquire() as lease:
        assert lease is not None and lease.epoch == 2


def test_a_holder_whose_epoch_is_stale_must_stop(tmp_path: Path):
    with TrialFolder(tmp_path).acquire() as lease:
        assert lease is not None
        lease.check()
        (tmp_path / "lease").write_text(f"{lease.epoch + 1}\n")
        with pytest.raises(LeaseLost):
            lease.check()


def test_a_submission_is_stored_with_its_digest(tmp_path: Path):
    folder = TrialFolder(tmp_path)
    assert not folder.submission_entry
    entry = folder.save_submission("submission.csv", b"id,x\n1,2\n")
    assert not folder.submission_entry
    folder.submit(entry)
    assert folder.submission_entry and folder.submission_entry.sha256 == hashlib.sha256(b"id,x\n1,2\n").hexdigest()
    assert folder.submission is not None and folder.submission.read_bytes() == b"id,x\n1,2\n"


def test_a_submission_in_a_folder_of_the_workspace_is_stored_by_its_last_name(tmp_path: Path):
    folder = TrialFolder(tmp_path)
    folder.submit(folder.save_submission("checkpoints/best.npz", b"weights"))
    assert folder.submission == tmp_path / "submission" / "best.npz"


def test_a_missing_submission_ends_the_agents_work_too(tmp_path: Path):
    folder = TrialFolder(tmp_path)
    folder.submit(folder.save_submission("submission.csv", None, reason="there is none"))
    assert folder.submission_entry and folder.submission is None


def test_a_damaged_state_is_named(tmp_path: Path):
    (tmp_path / "state.json").write_text('{"format": "state/9"}')
    with pytest.raises(RecordError, match="format"):
        _ = TrialFolder(tmp_path).state


@pytest.mark.parametrize(
    ("status", "cause", "final"),
    [
        ("done", None, True),
        ("inapplicable", None, True),
        ("failed", "agent", True),
        ("failed", "infrastructure", False),
        ("stopped", "user", False),
        ("running", None, False),
        ("waiting", None, False),
        ("submitted", None, False),
    ],
)
def test_a_trial_is_final_if_it_is_done_or_failed_because_of_the_agent(status, cause, final):
    assert State(status=status, cause=cause).final is final


def test_time_is_counted_on_a_clock_that_does_not_jump():
    ticks = iter([100.0, 103.0, 103.0, 111.0])
    clock = Clock(Budget(time=10, steps=5), now=lambda: next(ticks))
    assert clock.elapsed == 3.0
    assert clock.seconds_left == 7.0
    assert clock.seconds_left == 0.0


def test_steps_and_time_run_out():
    clock = Clock(Budget(time=10, steps=1), now=lambda: 0.0)
    clock.step()
    with pytest.raises(OutOfBudget, match="steps"):
        clock.step()
    time = [0.0]
    clock = Clock(Budget(time=10, steps=1), now=lambda: time[0])
    time[0] = 10.0
    with pytest.raises(OutOfBudget, match="all 10 seconds"):
        clock.step()
