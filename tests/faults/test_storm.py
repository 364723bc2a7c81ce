"""A small storm: random kills of processes of a run, and a full disk at many positions of a log."""

import random

from storm import cut_everywhere, local_runs, storm

KILLS = 6


def test_nothing_is_lost_done_twice_or_left_behind_when_processes_are_killed(home, tiny, tmp_path):
    with local_runs(home, tmp_path) as make_run:
        tally = storm(make_run, tmp_path, KILLS, random.Random(3), "--cores", "2")
    assert tally.kills.total() >= KILLS
    assert tally.clean, tally
    log = next(iter(sorted(tmp_path.glob("run*/trials/*/events.jsonl"))))
    cuts = cut_everywhere(log, tmp_path, step=17)
    assert cuts.trials > 100 and cuts.clean, cuts
