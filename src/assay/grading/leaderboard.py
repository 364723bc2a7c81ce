"""Build a leaderboard from the scores of all teams: medal thresholds, and the score at each percentile."""

import csv
import math
import statistics
from collections.abc import Sequence
from pathlib import Path

from assay.core.errors import UsageError
from assay.core.text import one_line
from assay.tasks import Leaderboard, Metric


def medal_places(teams: int) -> tuple[int, int, int]:
    """Return the last places that win gold, silver and bronze among so many teams by Kaggle's rules, from 1."""
    if teams < 100:
        return max(1, int(teams * 0.1)), max(1, int(teams * 0.2)), max(1, int(teams * 0.4))
    if teams < 250:
        return 10, int(teams * 0.2), int(teams * 0.4)
    if teams < 1000:
        return 10 + int(teams * 0.002), 50, 100
    return 10 + int(teams * 0.002), int(teams * 0.05), int(teams * 0.1)


def make_leaderboard(scores: Sequence[float], metric: Metric) -> Leaderboard:
    """Return the leaderboard of teams with these scores, in any order."""
    best_first = sorted(scores, reverse=metric.direction == "higher")
    teams = len(best_first)
    gold, silver, bronze = (best_first[rank - 1] for rank in medal_places(teams))
    percentiles = {str(share): best_first[round((100 - share) / 100 * (teams - 1))] for share in range(101)}
    median = statistics.median(best_first)
    return Leaderboard(gold=gold, silver=silver, bronze=bronze, median=median, teams=teams, percentiles=percentiles)


def read_leaderboard(path: Path, metric: Metric) -> Leaderboard:
    """Read a leaderboard from a CSV file with one team per row and a column `score`."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = list(csv.DictReader(file))
        scores = [float(row["score"]) for row in rows]
    except (OSError, UnicodeDecodeError, KeyError, TypeError, ValueError) as error:
        raise UsageError(
            f"{path} is not a leaderboard (a CSV file with numbers in a column 'score'): {one_line(repr(error), 200)}"
        ) from None
    if not scores or not all(map(math.isfinite, scores)):
        raise UsageError(f"{path} is not a leaderboard: it needs at least one team, and a finite score for each")
    return make_leaderboard(scores, metric)
