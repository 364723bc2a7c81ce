"""Medal positions and leaderboards made from all teams' scores."""

from pathlib import Path

import pytest

from assay.core.errors import UsageError
from assay.grading import leaderboard
from assay.grading.grade import find_medal, find_percentile
from assay.tasks import Metric

HIGHER = Metric(name="accuracy", direction="higher")
LOWER = Metric(name="rmse", direction="lower")


@pytest.mark.parametrize(
    ("teams", "ranks"),
    [
        # As the published benchmark gives them.
        (1, (1, 1, 1)),
        (5, (1, 1, 2)),
        (9, (1, 1, 3)),
        (10, (1, 2, 4)),
        (99, (9, 19, 39)),
        (100, (10, 20, 40)),
        (249, (10, 49, 99)),
        (250, (10, 50, 100)),
        (499, (10, 50, 100)),
        (500, (11, 50, 100)),
        (999, (11, 50, 100)),
        (1000, (12, 50, 100)),
        (1242, (12, 62, 124)),
        (2000, (14, 100, 200)),
        (5000, (20, 250, 500)),
    ],
)
def test_medals_lie_where_the_published_rules_put_them(teams, ranks):
    assert leaderboard.medal_places(teams) == ranks


def test_medal_thresholds_are_the_scores_at_the_published_ranks_in_either_direction():
    scores = [float(score) for score in range(1, 201)]
    best_high = leaderboard.make_leaderboard(scores, HIGHER)
    best_low = leaderboard.make_leaderboard(scores[::-1], LOWER)
    # Two hundred teams: places 10, 40 and 80, counted from 200 downwards or from 1 upwards.
    assert (best_high.gold, best_high.silver, best_high.bronze) == (191, 161, 121)
    assert (best_low.gold, best_low.silver, best_low.bronze) == (10, 40, 80)
    assert best_high.median == best_low.median == 100.5


def test_percentiles_of_all_teams_run_from_the_worst_to_the_best():
    board = leaderboard.make_leaderboard([0.1, 0.2, 0.3, 0.4, 0.5], HIGHER)
    assert find_percentile(0.5, board, HIGHER) == 100
    assert find_percentile(0.05, board, HIGHER) == 0
    assert find_medal(0.5, board, HIGHER) == "gold"


def test_a_file_of_teams_is_read(tmp_path: Path):
    path = tmp_path / "leaderboard.csv"
    path.write_text("teamId,score\n1,0.9\n2,0.8\n3,0.7\n")
    assert leaderboard.read_leaderboard(path, HIGHER).teams == 3


@pytest.mark.parametrize("text", ["", "teamId\n1\n", "score\n", "score\nbest\n", "score\nnan\n"])
def test_a_file_that_is_not_a_leaderboard_is_refused(tmp_path: Path, text: str):
    path = tmp_path / "leaderboard.csv"
    path.write_text(text)
    with pytest.raises(UsageError, match="not a leaderboard"):
        leaderboard.read_leaderboard(path, HIGHER)
