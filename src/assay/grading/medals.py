"""What a score is worth: medal, percentile, rank in the panel, improvement over the baseline.

Scores are compared after rounding to five decimals, as the published benchmark does. A score that is not a number
reaches nothing; an infinite one is compared like any other.
"""

import math
from collections.abc import Sequence

from assay.grading.result import Medal
from assay.tasks import Leaderboard, Measured, Metric, Solution

DECIMALS = 5
NEEDED_IMPROVEMENT = 0.10
CHANCE = 2.0


def rounded(score: float) -> float:
    """A score as it is reported and compared."""
    return round(float(score), DECIMALS)


def reaches(score: float, threshold: float, metric: Metric) -> bool:
    """Whether the score is as good as the threshold, or better."""
    return rounded(score) == threshold or metric.better(rounded(score), threshold)


def medal(score: float, board: Leaderboard, metric: Metric) -> Medal | None:
    """The best medal whose threshold the score reaches; a tie with the threshold wins it."""
    tiers: tuple[tuple[Medal, float], ...] = (("gold", board.gold), ("silver", board.silver), ("bronze", board.bronze))
    return next((name for name, threshold in tiers if reaches(score, threshold, metric)), None)


def above_median(score: float, board: Leaderboard, metric: Metric) -> bool:
    """Whether the score is strictly better than the median team's."""
    return metric.better(rounded(score), board.median)


def percentile(score: float, board: Leaderboard, metric: Metric) -> float | None:
    """Where the score would stand among the teams, 100 being the best, interpolated between the known percentiles.

    A tie counts as the best place that has this score. Beyond either end it is that end. None where nothing is known.
    """
    steps = sorted((float(place), threshold) for place, threshold in board.percentiles.items())
    if not steps:
        return None
    reached = [step for step in steps if reaches(score, step[1], metric)]
    missed = [step for step in steps if not reaches(score, step[1], metric)]
    if not reached or not missed:
        return reached[-1][0] if reached else missed[0][0]
    (below, low), (above, high) = reached[-1], missed[0]
    return below + (above - below) * (rounded(score) - low) / (high - low)


def rank(score: float, panel: Sequence[Solution], metric: Metric) -> int:
    """One more than the number of panel solutions that are strictly better."""
    return 1 + sum(not reaches(score, rounded(solution.score), metric) for solution in panel)


def improvement(score: float, baseline: float, metric: Metric) -> float | None:
    """How much better than the baseline, as a share of it: 0.1 is 10 % better, negative is worse.

    None for a baseline of 0, of which nothing is a share, and for a score that is not finite.
    """
    if baseline == 0 or not math.isfinite(score):
        return None
    gain = score - baseline if metric.direction == "higher" else baseline - score
    return round(gain / abs(baseline), 9)  # so that 1.1 against 1.0 is 10 % and not a hair more


def succeeds(gain: float | None) -> bool:
    """Whether an improvement counts as success: more than 10 % over the baseline."""
    return gain is not None and gain > NEEDED_IMPROVEMENT


def beyond_spread(score: float, measured: Measured, metric: Metric) -> bool:
    """Whether the score is better than the starter's mean by more than two standard deviations of its seeds.

    With five seeds, about one in fourteen further runs of the same starter comes that far by chance. One whose seeds
    all score the same has no spread: there, anything better is beyond it.
    """
    gain = score - measured.baseline if metric.direction == "higher" else measured.baseline - score
    return gain > CHANCE * measured.baseline_spread and rounded(gain) > 0
