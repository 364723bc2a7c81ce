"""What a score is worth, at the exact places where it changes."""

import pytest

from assay.grading.grade import (
    beats_baseline,
    compute_improvement,
    find_medal,
    find_percentile,
    is_above_median,
    rank_in_panel,
)
from assay.tasks import Leaderboard, Metric, Solution

HIGHER, LOWER = Metric(name="accuracy", direction="higher"), Metric(name="rmse", direction="lower")
UP = Leaderboard(
    gold=0.9, silver=0.8, bronze=0.7, median=0.6, teams=100, percentiles={"0": 0.1, "50": 0.6, "90": 0.8, "100": 0.9}
)
DOWN = Leaderboard(
    gold=1.0, silver=2.0, bronze=3.0, median=4.0, teams=100, percentiles={"0": 9.0, "50": 4.0, "90": 2.0, "100": 1.0}
)


@pytest.mark.parametrize(
    ("score", "board", "metric", "medal"),
    [
        (0.95, UP, HIGHER, "gold"),
        (0.9, UP, HIGHER, "gold"),
        (0.89999, UP, HIGHER, "silver"),
        (0.8, UP, HIGHER, "silver"),
        (0.79999, UP, HIGHER, "bronze"),
        (0.7, UP, HIGHER, "bronze"),
        (0.69999, UP, HIGHER, None),
        (0.899996, UP, HIGHER, "gold"),  # rounds to 0.9
        (0.899994, UP, HIGHER, "silver"),  # rounds to 0.89999
        (0.5, DOWN, LOWER, "gold"),
        (1.0, DOWN, LOWER, "gold"),
        (1.00001, DOWN, LOWER, "silver"),
        (3.0, DOWN, LOWER, "bronze"),
        (3.000004, DOWN, LOWER, "bronze"),
        (3.00001, DOWN, LOWER, None),
    ],
)
def test_a_medal_is_won_at_its_threshold_and_not_below(score, board, metric, medal):
    assert find_medal(score, board, metric) == medal


def test_where_all_thresholds_are_equal_only_gold_can_be_won():
    board = Leaderboard(gold=1, silver=1, bronze=1, median=0.9, teams=10)
    assert find_medal(1.0, board, HIGHER) == "gold"
    assert find_medal(0.99999, board, HIGHER) is None


@pytest.mark.parametrize(
    ("score", "board", "metric", "above"),
    [
        (0.6, UP, HIGHER, False),
        (0.600004, UP, HIGHER, False),
        (0.60001, UP, HIGHER, True),
        (4.0, DOWN, LOWER, False),
        (3.99999, DOWN, LOWER, True),
    ],
)
def test_the_median_itself_is_not_above_the_median(score, board, metric, above):
    assert is_above_median(score, board, metric) is above


@pytest.mark.parametrize(
    ("score", "board", "metric", "percentile"),
    [
        (0.0, UP, HIGHER, 0),
        (0.35, UP, HIGHER, 25),  # half-way from 0.1 to 0.6
        (0.6, UP, HIGHER, 50),
        (0.85, UP, HIGHER, 95),
        (1.0, UP, HIGHER, 100),
        (10.0, DOWN, LOWER, 0),
        (3.0, DOWN, LOWER, 70),  # half-way from 4 to 2
        (0.5, DOWN, LOWER, 100),
    ],
)
def test_a_percentile_is_between_its_neighbors(score, board, metric, percentile):
    assert find_percentile(score, board, metric) == pytest.approx(percentile)


def test_a_tie_has_the_best_percentile_of_its_score():
    board = Leaderboard(
        gold=1, silver=1, bronze=1, median=1, teams=9, percentiles={"0": 0.0, "9": 0.5, "50": 0.5, "100": 1.0}
    )
    assert find_percentile(0.5, board, HIGHER) == 50


def test_without_known_percentiles_there_is_none():
    assert find_percentile(1, Leaderboard(gold=1, silver=1, bronze=1, median=1, teams=1), HIGHER) is None


PANEL = [Solution(name=str(score), score=score, seconds=1) for score in (0.5, 0.7, 0.700004, 0.9)]


@pytest.mark.parametrize(
    ("score", "metric", "rank"),
    [(0.95, HIGHER, 1), (0.9, HIGHER, 1), (0.7, HIGHER, 2), (0.6, HIGHER, 4), (0.1, HIGHER, 5), (0.7, LOWER, 2)],
)
def test_rank_counts_only_strictly_better_solutions(score, metric, rank):
    assert rank_in_panel(score, PANEL, metric) == rank


@pytest.mark.parametrize(
    ("score", "baseline", "metric", "gain", "success"),
    [
        (1.2, 1.0, HIGHER, 0.2, True),
        (1.1, 1.0, HIGHER, 0.1, False),  # exactly 10% is not more than 10%
        (0.9, 1.0, HIGHER, -0.1, False),
        (0.8, 1.0, LOWER, 0.2, True),
        (1.5, 1.0, LOWER, -0.5, False),
        (-0.5, -1.0, HIGHER, 0.5, True),
        (-2.0, -1.0, LOWER, 1.0, True),
        (1.0, 0.0, HIGHER, None, False),
    ],
)
def test_improvement_is_a_share_of_the_baseline_in_the_metrics_direction(score, baseline, metric, gain, success):
    assert compute_improvement(score, baseline, metric) == gain
    assert beats_baseline(gain) is success
