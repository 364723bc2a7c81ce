"""The small form of `make faults`: random kills of processes of runs, and a disk that gets full at many positions."""

import json
import random
import subprocess
import sys

import every_byte
import pytest
from storm import Tally, make_site, storm

KILLS = 12
SHARE = 400
"""Every so-manieth position at which the disk can get full is tried."""


@pytest.mark.slow
def test_nothing_is_lost_done_twice_or_left_behind_when_processes_are_killed(tmp_path):
    chance, tally = random.Random(3), Tally("local")
    with make_site("local", tmp_path, chance) as site:
        storm(site, tmp_path, KILLS, chance, tally)
    assert tally.faults.total() == KILLS and tally.trials
    assert tally.clean, tally


@pytest.mark.slow
def test_a_trial_is_complete_wherever_the_disk_got_full():
    # In a process of its own: it forks, which one with threads, such as this one, must not.
    done = subprocess.run([sys.executable, every_byte.__file__, "7", str(SHARE)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    outcomes = every_byte.Outcomes(**json.loads(done.stdout))
    assert outcomes.bytes > 10 and outcomes.failed > 10
    assert outcomes.clean, outcomes
