"""Versions of an agent are compared by relative score, paired by task, variant and seed; figures are worked by hand."""

from dataclasses import replace

import pytest
from synthetic_outcomes import failed, outcome

from assay.regression.change import PairedTrial, compare_versions
from assay.results.frame import Frame

NAMES = ("version 1", "Agent version 2")


def rows(scores, tasks=("pocket/digits", "pocket/spaceship-titanic", "pocket/vectorization")):
    """A trial per score, in turn on these tasks and then with the next seed; None is a failed trial."""
    trials = []
    for number, score in enumerate(scores):
        task, seed = tasks[number % len(tasks)], number // len(tasks) + 1
        trials.append(failed(task, "Agent", seed) if score is None else outcome(task, "Agent", seed, score))
    return Frame(trials)


@pytest.mark.parametrize(
    ("before", "now", "direction", "change"),
    [
        (0.4, 0.6, "higher", 0.2),  # 0.2 / (0.4 + 0.6)
        (0.6, 0.4, "higher", -0.2),
        (2.0, 1.0, "lower", 1 / 3),
        (-3.0, -1.0, "higher", 0.5),  # 2 / (3 + 1)
        (0.0, 0.0, "higher", 0.0),
        (0.5, None, "higher", -1.0),
        (None, 0.01, "lower", 1.0),
        (None, None, "higher", 0.0),
    ],
)
def test_the_change_of_a_score_is_relative_and_a_failure_is_below_every_score(before, now, direction, change):
    (old,), (new,) = rows([before]), rows([now])
    pair = PairedTrial(replace(old, direction=direction), replace(new, direction=direction))
    assert pair.change == pytest.approx(change)
    assert pair.broke == (before is not None and now is None)


def test_six_pairs_that_all_get_worse_are_worse_and_five_are_not_known():
    # Six signs agree by chance with probability 2 / 2^6 = 0.031, five with 2 / 2^5 = 0.0625.
    six = compare_versions(rows([0.5] * 6), rows([0.3, 0.31, 0.32, 0.33, 0.34, 0.35]), NAMES)
    assert six.outcome == "worse" and six.answers.these.claim.p == pytest.approx(2 / 64, abs=0.005)
    assert six.sentence.startswith("Agent version 2 is worse than version 1 on these 3 tasks: −21 points by score")
    assert "in 6 pairs of trials" in six.sentence
    five = compare_versions(rows([0.5] * 5), rows([0.3, 0.31, 0.32, 0.33, 0.34]), NAMES)
    assert five.outcome == "not known" and "It is not known whether" in five.sentence
    better = compare_versions(rows([0.3] * 6), rows([0.5, 0.51, 0.52, 0.53, 0.54, 0.55]), NAMES)
    assert better.outcome == "better"


def test_trials_that_the_infrastructure_failed_are_not_compared():
    lost = [replace(row, cause="infrastructure") if row.score is None else row for row in rows([None, 0.5])]
    change = compare_versions(rows([0.5, 0.5]), Frame(lost), NAMES)
    assert len(change.pairs) == 1 and not change.broken and "the infrastructure failed it" in change.unpaired[0]


def test_equal_scores_and_small_changes_both_ways_are_equivalent():
    equal = compare_versions(rows([0.5, None, 0.7]), rows([0.5, None, 0.7]), NAMES)
    assert equal.outcome == "equivalent" and "the same score in all 3 pairs" in equal.sentence
    broken = compare_versions(rows([None] * 3), rows([None] * 3), NAMES)
    assert broken.outcome == "not known" and "neither has a score in any of 3 pairs" in broken.sentence
    slight = [0.5 + sign * 0.002 * number for number, sign in enumerate([1, -1] * 6)]
    assert compare_versions(rows([0.5] * 12), rows(slight), NAMES).outcome == "equivalent"


def test_the_sentence_says_where_it_broke():
    change = compare_versions(rows([0.5] * 6), rows([0.5, None, 0.5, 0.5, None, 0.5]), NAMES)
    assert [pair.key[2] for pair in change.broken] == [1, 2]
    assert change.sentence.endswith("; it broke on spaceship-titanic.")
    assert [record["change"] for record in change.to_table().to_records()] == [-1, -1]


def test_trials_under_other_conditions_are_not_compared():
    before, now = rows([0.5] * 3), rows([0.1] * 3)
    moved = [replace(row, conditions={**row.conditions, "data": "other"}) for row in now]
    known = [replace(row, conditions={**row.conditions, "data": "this"}) for row in before]
    change = compare_versions(Frame(known), Frame(moved), NAMES)
    assert change.outcome == "not known" and not change.pairs
    assert "data changed since" in change.sentence
    assert len(change.unpaired) == 3
