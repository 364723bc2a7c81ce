"""A clock that jumps by days changes no budget, ends no command, expires no lease, and does not show in the log."""

import os
import subprocess
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

from run_checks import check_complete

from assay.core.disk import atomic_write
from assay.records import read_events

# From the package `faketime`: it changes the date that programs see, and nothing else.
LIBRARY = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))
JUMPS = ["+10d", "-20d", "+0"]


def test_a_clock_that_jumps_back_and_forth_changes_nothing(tiny, busy, tmp_path):
    clock = tmp_path / "clock"
    atomic_write(clock, "+0")
    tiny.variables |= {
        "LD_PRELOAD": str(LIBRARY),
        "FAKETIME_TIMESTAMP_FILE": str(clock),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "NO_FAKE_STAT": "1",
    }
    process = tiny.start(*tiny.run_words(busy("Counts,steps=15"), seeds=1))
    dates = []
    for number, jump in enumerate(JUMPS):
        steps = 3 * number + 2
        tiny.wait_until(
            process, lambda steps=steps: any(kinds.count("snapshot_taken") >= steps for kinds in kinds_of(tiny))
        )
        atomic_write(clock, jump)
        printed = subprocess.run(["date", "+%s"], env={**os.environ, **tiny.variables}, capture_output=True, check=True)
        dates.append(int(printed.stdout))
    _, stderr = process.communicate(timeout=600)
    assert process.returncode == 0, stderr
    (trial,) = tiny.folder.trials()
    days = [(later - earlier) / 86_400 for earlier, later in pairwise(dates)]
    assert days[0] < -29 and days[1] > 19, "the clock did not jump"
    times = [event.time for event in read_events(trial.events)]
    assert times == sorted(times) and times[-1] - times[0] < timedelta(minutes=10)
    # The budget is a minute: measured by the date, it would have run out at the first jump.
    assert 0 < trial.state.elapsed < 60
    assert trial.state.steps == 16
    check_complete(tiny, 1)


def kinds_of(run) -> list[list[str]]:
    """The kinds of events of each trial."""
    return list(run.events().values())
