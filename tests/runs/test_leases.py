"""A trial has one holder at a time, on one machine or several; a paused, dead or slow holder never writes again."""

import json
import multiprocessing
import os
import resource
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.core.disk import write_json
from assay.records import EventLog, LeaseLost, State, TrialFolder, read_events
from assay.records.events import Restarted
from assay.records.lease import LEASE_TIMEOUT, Claim, LeaseWatch, acquire_lease, is_held, newest_claim
from assay.runs.trial import run_trial

FRESH = multiprocessing.get_context("forkserver")
STOPPED_BY_LEASE = 7


class Ticks:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def found_expired(path: Path) -> Claim:
    """Return the claim that a watcher reports as expired after the lease timeout."""
    ticks = Ticks()
    watch = LeaseWatch(now=ticks)
    assert watch.expired(path) is None
    ticks.now += LEASE_TIMEOUT
    claim = watch.expired(path)
    assert claim is not None
    return claim


def spawn(target: Callable[..., None], *words: object) -> "multiprocessing.process.BaseProcess":
    process = FRESH.Process(target=target, args=words, daemon=True)
    process.start()
    return process


def wait_until(true: Callable[[], object], process: "multiprocessing.process.BaseProcess | None" = None) -> None:
    never = threading.Event()
    while not true():
        assert process is None or process.is_alive()
        never.wait(0.005)  # leaves the processor to whoever makes it true


def is_paused(pid: int | None) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def hold_lease(path: Path, machine: str) -> None:
    with acquire_lease(path, machine=machine):
        signal.pause()


def test_a_dead_holder_on_this_machine_is_replaced_at_once(tmp_path: Path):
    holder = spawn(hold_lease, tmp_path, None)
    wait_until(lambda: newest_claim(tmp_path), holder)
    assert is_held(tmp_path) is True
    holder.kill()
    holder.join()
    assert is_held(tmp_path) is False
    with acquire_lease(tmp_path) as lease:
        assert lease is not None and (lease.epoch, lease.contested) == (2, False)


def fail_to_hold_lease(path: Path) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))  # each file is cut after 64 bytes, as on a full disk
    try:
        with acquire_lease(path):
            pass
    except OSError:
        sys.exit(STOPPED_BY_LEASE)


def test_no_temporary_lease_is_left_when_the_disk_is_full(tmp_path: Path):
    holder = spawn(fail_to_hold_lease, tmp_path)
    holder.join()
    assert holder.exitcode == STOPPED_BY_LEASE
    assert [path.name for path in tmp_path.iterdir()] == ["lease"]


@pytest.mark.parametrize(
    "name",
    [
        *(f".{name}.{'0a' * 12}" for name in ("lease", "state.json", "grade.json", "events.jsonl")),
        "submission/.copy",
        "snapshots/objects/.0a",
        f"snapshots/manifests/.0a.json.{'0a' * 12}",
    ],
)
def test_the_next_holder_removes_what_a_dead_one_was_writing(tmp_path: Path, name: str):
    left, kept = tmp_path / name, tmp_path / "snapshots/objects/0a"
    for path in (left, kept):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    with acquire_lease(tmp_path) as lease:
        assert lease is not None and not lease.contested
        assert kept.exists() and not left.exists()


def test_a_dead_holder_on_another_machine_is_replaced_only_after_its_lease_expires(tmp_path: Path):
    holder = spawn(hold_lease, tmp_path, "another machine")
    wait_until(lambda: newest_claim(tmp_path), holder)
    holder.kill()
    holder.join()
    assert is_held(tmp_path) is None
    with acquire_lease(tmp_path) as lease:
        assert lease is None
    with acquire_lease(tmp_path, found_expired(tmp_path)) as lease:
        assert lease is not None and (lease.epoch, lease.contested) == (2, True)


def test_a_lease_released_on_another_machine_is_acquired_at_once(tmp_path: Path):
    with acquire_lease(tmp_path, machine="another machine") as lease:
        assert lease is not None
    assert newest_claim(tmp_path).released
    with acquire_lease(tmp_path) as lease:
        assert lease is not None and (lease.epoch, lease.contested) == (2, False)


def test_a_running_holder_keeps_renewing_its_lease(tmp_path: Path):
    ticks = Ticks()
    watch = LeaseWatch(now=ticks)
    with acquire_lease(tmp_path, machine="another machine") as lease:
        assert lease is not None
        for _ in range(2):
            seen = newest_claim(tmp_path)
            assert watch.expired(tmp_path) is None
            wait_until(lambda seen=seen: newest_claim(tmp_path) != seen)
            ticks.now += 2 * LEASE_TIMEOUT
            assert watch.expired(tmp_path) is None


def test_a_claim_that_was_renewed_after_it_seemed_expired_is_not_taken_over(tmp_path: Path):
    with acquire_lease(tmp_path, machine="another machine") as lease:
        assert lease is not None
        watched = found_expired(tmp_path)
        wait_until(lambda: newest_claim(tmp_path) != watched)
        with acquire_lease(tmp_path, watched) as other:
            assert other is None
        lease.check()


def try_to_acquire(path: Path, expired: Claim, ready: "multiprocessing.synchronize.Barrier", won) -> None:
    ready.wait()
    with acquire_lease(path, expired) as lease:
        if lease:
            won.put(lease.epoch)
        ready.wait()


def test_only_one_of_many_concurrent_takeovers_succeeds(tmp_path: Path):
    holder = spawn(hold_lease, tmp_path, "another machine")
    wait_until(lambda: newest_claim(tmp_path), holder)
    holder.kill()
    holder.join()
    many = 6
    ready, won = FRESH.Barrier(many), FRESH.Queue()
    takers = [spawn(try_to_acquire, tmp_path, found_expired(tmp_path), ready, won) for _ in range(many)]
    assert won.get() == 2
    for taker in takers:
        taker.join()
    assert won.empty()
    assert TrialFolder(tmp_path).attempts == 2


def write_forever(path: Path) -> None:
    try:
        with TrialFolder(path).acquire() as lease, TrialFolder(path, lease).log() as log:
            while True:
                log.append(Restarted(reason="tick"))
    except LeaseLost:
        sys.exit(STOPPED_BY_LEASE)


def test_a_paused_writer_writes_nothing_after_its_lease_was_taken_over(tmp_path: Path):
    writer = spawn(write_forever, tmp_path)
    events = TrialFolder(tmp_path).events
    wait_until(lambda: events.exists() and len(read_events(events)) > 3, writer)
    os.kill(writer.pid, signal.SIGSTOP)
    wait_until(lambda: is_paused(writer.pid))
    with acquire_lease(tmp_path, found_expired(tmp_path)) as lease:
        assert lease is not None and lease.contested
        with TrialFolder(tmp_path, lease).log() as log:
            log.append(Restarted(reason="mine"))
            os.kill(writer.pid, signal.SIGCONT)
            writer.join()
            log.append(Restarted(reason="mine too"))
    assert writer.exitcode == STOPPED_BY_LEASE
    written = read_events(events)  # which also checks the chain
    assert [(event.reason, event.epoch) for event in written[-2:]] == [("mine", 2), ("mine too", 2)]
    assert {(event.reason, event.epoch) for event in written[:-2]} == {("tick", 1)}


def test_a_takeover_from_a_paused_holder_survives_that_holders_death(tmp_path: Path):
    paused = spawn(hold_lease, tmp_path, None)
    wait_until(lambda: newest_claim(tmp_path), paused)
    os.kill(paused.pid, signal.SIGSTOP)
    wait_until(lambda: is_paused(paused.pid))
    with acquire_lease(tmp_path, found_expired(tmp_path)) as lease:
        assert lease is not None
        paused.kill()
        paused.join()
        # The paused holder's lock is free now; the trial must still count as held.
        with acquire_lease(tmp_path) as other:
            assert other is None
        wait_until(lambda: newest_claim(tmp_path).locked)
        assert is_held(tmp_path) is True
        lease.check()
    assert is_held(tmp_path) is False


def pause_here() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def write_late(path: Path, what: str) -> None:
    """Write something, and pause between the last check and the write."""
    with TrialFolder(path).acquire() as lease:
        assert lease is not None

        def check_and_pause() -> None:
            lease.check()
            pause_here()

        if what == "state":
            write_json(path / "state.json", State(status="done").model_dump(mode="json"), check=check_and_pause)
        else:
            with TrialFolder(path, lease).log() as log:
                log._check = check_and_pause
                log.append(Restarted(reason="late"))


@pytest.mark.parametrize("what", ["state", "event"])
def test_a_writer_paused_between_its_last_check_and_the_write_changes_nothing(tmp_path: Path, what: str):
    writer = spawn(write_late, tmp_path, what)
    wait_until(lambda: is_paused(writer.pid), writer)
    with acquire_lease(tmp_path, found_expired(tmp_path)) as lease:
        folder = TrialFolder(tmp_path, lease)
        folder.write_state(State(status="running", epoch=2))
        with folder.log() as log:
            log.append(Restarted(reason="mine"))
            os.kill(writer.pid, signal.SIGCONT)
            writer.join()
        assert folder.state.status == "running"
        assert [event.reason for event in read_events(folder.events)] == ["mine"]
    assert not list(tmp_path.glob(".*"))


def test_a_stale_holder_cannot_change_the_log(tmp_path: Path):
    path = tmp_path / "events.jsonl"
    with TrialFolder(tmp_path).acquire() as lease:
        assert lease is not None
        with EventLog(path, lease.epoch + 1) as log:
            log.append(Restarted(reason="newer"))
        path.write_bytes(path.read_bytes() + b'{"torn')
        (tmp_path / "lease").write_text(f"{lease.epoch + 1}\n")
        with pytest.raises(LeaseLost):
            TrialFolder(tmp_path, lease).log()
        assert path.read_bytes().endswith(b'{"torn')
        for write in (lambda f: f.write_state(State()), lambda f: f.save_submission("x.csv", b"")):
            with pytest.raises(LeaseLost):
                write(TrialFolder(tmp_path, lease))
        assert not (tmp_path / "state.json").exists() and not list((tmp_path / "submission").iterdir())


@pytest.mark.slow
def test_a_paused_trial_is_finished_by_another_process_and_graded_once(tiny):
    run = tiny.start(*tiny.run_words("Steps,steps=12"))
    tiny.wait_until(run, lambda: any("snapshot_taken" in kinds for kinds in tiny.events().values()))
    (trial,) = tiny.folder.trials()
    paused = int(json.loads(newest_claim(trial.path).text)["holder"].split(":")[1])
    os.kill(paused, signal.SIGSTOP)
    wait_until(lambda: is_paused(paused))
    other = FRESH.Process(target=run_trial, args=(trial.path, tiny.home), kwargs={"expired": found_expired(trial.path)})
    other.start()
    other.join()
    assert trial.state.status == "done"
    os.kill(paused, signal.SIGCONT)
    _, stderr = run.communicate(timeout=600)
    assert run.returncode == 0, stderr
    kinds = tiny.events()[trial.path.name]
    assert (kinds.count("submitted"), kinds.count("graded")) == (1, 1)
    assert [event.epoch for event in read_events(trial.events) if event.kind == "graded"] == [2]
    verified = tiny.call("verify", str(tiny.out))
    assert verified.returncode == 0, verified.stdout + verified.stderr
