"""A disk that is full, shut down, unmounted or frozen: a run reports it, and completes when it is back."""

import os
from pathlib import Path

import pytest
from run_checks import check_complete, complete, finished, workspace

from assay.records import read_events

TRIALS = 2
FEW = ("-c", "retry_wait=0s", "--attempts", "2")
# A process that loses its disk cannot release its leases, so `resume` waits until they expire.
SHORT_LEASE = ("-c", "lease=10s")
LARGE = 2**14
CUT_SHORT = """
import sys
from pathlib import Path
from assay.records import EventLog, read_events
from assay.records.events import Restarted

disk = Path(sys.argv[1])
(disk / "ballast").write_bytes(bytes(5 * 4096))
with EventLog(disk / "events.jsonl", 1) as log:
    written, refused = 0, 0
    while refused < 3:
        try:
            log.append(Restarted(reason="x" * 1500))
            written += 1
        except OSError as error:
            assert error.errno == 28, error
            refused += 1
    (disk / "ballast").unlink()
    log.append(Restarted(reason="there is space again"))
events = read_events(disk / "events.jsonl")
assert [event.number for event in events] == list(range(written + 1)), events
assert events[-1].reason == "there is space again"
print(written)
"""


def events_of(run) -> int:
    return sum(map(len, run.events().values()))


def test_a_line_cut_short_by_a_full_disk_does_not_damage_later_lines(machine, tmp_path):
    point = tmp_path / "small"
    point.mkdir()
    machine.mount_memory(point, 8)
    assert int(machine.python(CUT_SHORT, point)) > 0


@pytest.mark.slow
@pytest.mark.parametrize("pages", [3, 12, 24, 36])
def test_a_run_on_a_full_disk_reports_it_and_completes_when_there_is_space(on_disk, machine, busy, pages):
    point = on_disk.out.parent
    machine.mount_memory(point, pages)
    words = on_disk.run_words(busy("Counts"), seeds=TRIALS)
    result = on_disk.call(*words, *FEW)
    assert result.returncode == 1, result.stdout
    assert "No space left on device" in result.stderr and "Traceback" not in result.stderr
    before = finished(on_disk)
    machine.resize_memory(point, LARGE)
    complete(on_disk, *words)
    check_complete(on_disk, TRIALS)
    after = finished(on_disk)
    assert {name: after[name] for name in before} == before


@pytest.mark.slow
def test_a_full_disk_under_the_record_is_not_an_agent_failure(on_disk, machine, busy):
    point = on_disk.out.parent
    machine.mount_memory(point, 1024)
    words = on_disk.run_words(busy("FillsDisk,megabytes=8"))
    result = on_disk.call(*words, *FEW)
    assert result.returncode == 1 and "No space left on device" in result.stderr
    (trial,) = on_disk.folder.trials()
    assert (trial.state.status, trial.state.cause) == ("failed", "infrastructure")
    machine.resize_memory(point, LARGE)
    complete(on_disk, *words)
    assert trial.state.status == "done"
    assert on_disk.events()[trial.path.name].count("graded") == 1


@pytest.mark.slow
def test_a_full_disk_under_the_labs_is_not_an_agent_failure(on_disk, machine, busy, home):
    machine.mount_memory(on_disk.out.parent, LARGE)
    machine.mount_memory(home.labs, 1024)
    words = on_disk.run_words(busy("FillsDisk,megabytes=16"))
    result = on_disk.call(*words, *FEW)
    assert result.returncode == 1 and "is full" in result.stderr
    (trial,) = on_disk.folder.trials()
    assert (trial.state.status, trial.state.cause) == ("failed", "infrastructure")
    machine.resize_memory(home.labs, LARGE)
    complete(on_disk, *words)
    assert trial.state.status == "done"


@pytest.mark.slow
@pytest.mark.parametrize("events", [2, 15])
@pytest.mark.parametrize("how", ["shut down", "unmounted"])
def test_a_run_on_a_lost_disk_reports_it_and_completes_when_the_disk_is_back(
    on_disk, machine, busy, tmp_path, how, events
):
    point, image = on_disk.out.parent, tmp_path / "image"
    machine.mount_image(image, point)
    words = on_disk.run_words(busy("Counts,steps=12"), seeds=TRIALS)
    process = on_disk.start(*words, *FEW, *SHORT_LEASE, "--cores", "1")
    on_disk.wait_until(process, lambda: events_of(on_disk) >= events)
    before = finished(on_disk)
    if how == "shut down":
        machine.shut_down(point)
    else:
        machine.call("umount", "--lazy", point)
    _, stderr = process.communicate(timeout=600)
    assert process.returncode == 1
    assert "cannot write the records of" in stderr and f"assay resume {on_disk.out}" in stderr
    assert "Traceback" not in stderr
    if how == "shut down":
        machine.call("umount", point)
    machine.mount_image(image, point)
    complete(on_disk, *words, options=SHORT_LEASE)
    check_complete(on_disk, TRIALS)
    after = finished(on_disk)
    assert {name: after[name] for name in before} == before


def stuck(session: int) -> bool:
    """Whether a process of that session waits for a disk and cannot be interrupted."""
    for folder in Path("/proc").iterdir():
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split() if folder.name.isdigit() else []
        except OSError:
            continue
        if len(fields) > 3 and int(fields[3]) == session and fields[0] == "D":
            return True
    return False


@pytest.mark.slow
def test_a_run_on_a_frozen_disk_waits_for_it(on_disk, machine, busy, tmp_path):
    point = on_disk.out.parent
    machine.mount_image(tmp_path / "image", point)
    process = on_disk.start(*on_disk.run_words(busy("Counts,steps=12"), seeds=TRIALS))
    on_disk.wait_until(process, lambda: events_of(on_disk) >= 5)
    machine.call("fsfreeze", "--freeze", point)
    try:
        on_disk.wait_until(process, lambda: stuck(os.getsid(process.pid)))
        assert process.poll() is None
    finally:
        machine.call("fsfreeze", "--unfreeze", point)
    _, stderr = process.communicate(timeout=600)
    assert process.returncode == 0, stderr
    check_complete(on_disk, TRIALS)


@pytest.mark.slow
def test_a_lab_with_unkillable_processes_is_abandoned(on_disk, machine, busy, home, tmp_path):
    machine.mount_image(tmp_path / "image", on_disk.out.parent)
    writes = "while :; do echo more >> written; done"
    process = on_disk.start(*on_disk.run_words(busy(f"RunsTooLong,command={writes}")), *FEW)
    on_disk.wait_until(process, lambda: any(machine.host_path(home.labs).glob("*/volume/workspace/written")))
    (lab,) = machine.host_path(home.labs).iterdir()
    volume = home.labs / lab.name / "volume"
    machine.call("fsfreeze", "--freeze", volume)
    try:
        _, stderr = process.communicate(timeout=600)
    finally:
        machine.call("fsfreeze", "--unfreeze", volume)
    assert process.returncode == 0, stderr
    check_complete(on_disk, 1)
    (trial,) = on_disk.folder.trials()
    assert workspace(trial)["ended.txt"] == "time\n"
    errors = [event.message for event in read_events(trial.events) if event.kind == "infrastructure_error"]
    assert len(errors) == 1 and "cannot be killed" in errors[0]
