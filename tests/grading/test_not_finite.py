"""A score that is no number is valid where the published graders say so, earns what they give, and stays legal JSON."""

import json
import math

import pytest

from assay.grading.batch import make_report
from assay.grading.grade import compute_improvement, find_medal, find_percentile, is_above_median, rank_in_panel
from assay.results.aggregate import aggregate_reports, read_reports
from assay.tasks import Leaderboard, Measured, Metric, Solution

LOW = Leaderboard(gold=-3, silver=-2, bronze=-1, median=0, teams=50, percentiles={"0": 9, "50": 0, "100": -3})
MEASURED = Measured(
    date="2026-01-01", edition="v1", versions={}, baseline=4.0, baseline_spread=0.1, baseline_seeds=3,
    panel=[Solution(name="a", score=3.0, seconds=1), Solution(name="b", score=1.0, seconds=1)],
)  # fmt: skip
ANSWERS = "id,price\na,1\nb,2\nc,4\n"
LOWER, HIGHER = Metric(name="mae", direction="lower"), Metric(name="auc", direction="higher")


@pytest.fixture
def champs(make_task):
    """A task whose perfect score is minus infinity: a logarithm of errors without a floor."""
    return make_task(
        metric="grouped_log_mae", params={"floor": 0}, takes={"groups": "id"}, leaderboard=LOW, measured=MEASURED,
        lenient=True,
    )  # fmt: skip


def test_a_score_of_minus_infinity_wins_gold_where_lower_is_better(champs, graded):
    grade = graded(champs, ANSWERS, ANSWERS)
    assert (grade.score, grade.not_finite, grade.valid_submission, grade.why) == (None, "-inf", True, None)
    assert (grade.gold_medal, grade.any_medal, grade.above_median, grade.percentile) == (True, True, True, 100)
    assert (grade.rank, grade.improvement, grade.success) == (1, None, True)


def test_a_score_of_nan_earns_nothing(make_task, graded):
    board = Leaderboard(gold=0.9, silver=0.8, bronze=0.7, median=0.6, teams=50, percentiles={"0": 0.1, "100": 0.9})
    task = make_task(metric="pearson", direction="higher", leaderboard=board, measured=MEASURED, lenient=True)
    grade = graded(task, ANSWERS, "id,price\na,7\nb,7\nc,7\n")
    assert (grade.score, grade.not_finite, grade.valid_submission, grade.why) == (None, "nan", True, None)
    assert (grade.any_medal, grade.above_median, grade.percentile, grade.rank) == (False, False, 0, 3)
    assert (grade.improvement, grade.success) == (None, False)


def test_an_infinite_error_is_the_worst(make_task, graded):
    task = make_task(columns={"price": {"type": "number", "missing": "keep"}}, leaderboard=LOW, lenient=True)
    grade = graded(task, ANSWERS, "id,price\na,inf\nb,1\nc,1\n")
    assert (grade.not_finite, grade.any_medal, grade.above_median, grade.percentile) == ("inf", False, False, 0)


def test_strict_editions_call_it_invalid(make_task, graded):
    grade = graded(make_task(metric="pearson", direction="higher"), ANSWERS, "id,price\na,7\nb,7\nc,7\n")
    assert (grade.valid_submission, grade.not_finite) == (False, None)
    assert grade.why == "pearson has no finite value for these predictions."


def test_reports_with_scores_that_are_not_finite_are_valid_json_and_can_be_aggregated(champs, graded, tmp_path):
    content = make_report([graded(champs, ANSWERS, ANSWERS)])
    path = tmp_path / "grading_report.json"
    path.write_text(json.dumps(content, allow_nan=False))
    assert content["competition_reports"][0]["score"] is None
    rates = aggregate_reports(read_reports([path]), ["prices"]).rates
    assert rates["gold_medal_percentage"].mean == rates["valid_submissions_percentage"].mean == 100


@pytest.mark.parametrize("metric", [LOWER, HIGHER])
def test_nan_is_the_worst_score_in_either_direction(metric):
    board = Leaderboard(gold=1, silver=1, bronze=1, median=1, teams=9, percentiles={"0": 5, "100": 1})
    assert find_medal(math.nan, board, metric) is None
    assert not is_above_median(math.nan, board, metric)
    assert rank_in_panel(math.nan, MEASURED.panel, metric) == 3
    assert find_percentile(math.nan, board, metric) == 0
    assert compute_improvement(math.nan, 1.0, metric) is None


@pytest.mark.parametrize(
    ("score", "metric", "won"),
    [(-math.inf, LOWER, "gold"), (math.inf, LOWER, None), (math.inf, HIGHER, "gold"), (-math.inf, HIGHER, None)],
)
def test_infinite_scores_are_compared_like_others(score, metric, won):
    board = Leaderboard(gold=1, silver=1, bronze=1, median=1, teams=9)
    assert find_medal(score, board, metric) == won
    assert compute_improvement(score, 1.0, metric) is None
