"""The study of selection: picks of own validation, of hidden rows and of an oracle, worked out by hand."""

import json

import pytest

from assay.studies.selection import HIDDEN, ORACLE, OWN, CandidateScores, SelectionTrial


def trial(*candidates, own=None):
    scores = [CandidateScores(mine, hidden, test, (test, test)) for mine, hidden, test in candidates]
    return SelectionTrial("task", 1, tuple(scores), own)


FOUR = trial((0.9, 0.5, 0.2), (0.8, 0.9, 0.9), (0.7, 0.6, 0.5), (0.6, 0.7, 0.7))


@pytest.mark.parametrize(
    ("rule", "budget", "share"),
    [
        (OWN, 4, 0.0),  # its favorite is the worst of four
        (HIDDEN, 4, 1.0),
        (ORACLE, 4, 1.0),
        (HIDDEN, 1, 0.0),
        (ORACLE, 1, 0.0),
    ],
)
def test_a_pick_is_worth_the_share_of_candidates_that_it_beats(rule, budget, share):
    assert FOUR.pick(rule, budget) == share


def test_ties_count_one_half():
    assert trial((1.0, 1.0, 0.5), (0.0, 0.0, 0.5), (0.0, 0.0, 0.1)).pick(OWN, 3) == 0.75


def test_an_oracle_is_scored_on_rows_that_did_not_choose_it():
    lucky = CandidateScores(0.5, 0.5, 0.5, (1.0, 0.0))
    steady = CandidateScores(0.5, 0.4, 0.4, (0.4, 0.4))
    assert SelectionTrial("task", 1, (lucky, steady), None).pick(ORACLE, 2) == 0.0


def test_without_own_metrics_only_the_final_pick_is_known():
    unknown = trial((None, 0.1, 0.1), (None, 0.9, 0.9), own=0)
    assert unknown.pick(OWN, 1) is None and unknown.pick(OWN, 2) == 0.0


def test_an_agent_that_picks_badly_gains_by_hidden_selection(tiny):
    assert tiny.call(*tiny.run_words("PicksBadly"), "--selection", "report").returncode == 0
    short, explained = (tiny.call("report", str(tiny.out), *words).stdout.split() for words in ((), ("--explain",)))
    assert "PicksBadly 1 2 0.0000 1.000 1.000" in " ".join(explained) and "Oracle" not in short
    done = tiny.call("study", "selection", str(tiny.out), "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["tables"]["selection"]["rows"]
    assert [(row["own_rate"], row["hidden_rate"], row["gain"]) for row in rows] == [(0.0, 1.0, 1.0)]


def test_trials_without_candidates_are_named(tiny):
    assert tiny.call(*tiny.run_words("Steps")).returncode == 0
    done = tiny.call("study", "selection", str(tiny.out))
    assert done.returncode == 2 and "--selection report" in done.stderr
