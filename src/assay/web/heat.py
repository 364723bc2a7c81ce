"""How strongly the cells of tasks × agents are colored."""

from collections.abc import Sequence
from statistics import fmean

from assay.results.frame import TrialRow
from assay.results.measures import Measure, measure_trial

LEVELS = 8


def choose_heat(rows: Sequence[TrialRow]) -> Measure | None:
    """Return the measure that cells are colored by: the first that these trials, all with the same rules, define."""
    ranked = any(row.has_leaderboard for row in rows)
    choices: tuple[Measure, ...] = ("percentile",) if ranked else ("normalized", "improvement")
    valid = [row for row in rows if row.valid]
    return next((name for name in choices if any(measure_trial(row, name) is not None for row in valid)), None)


def find_heat(trials: Sequence[TrialRow], measure: Measure | None) -> int:
    """Return how strongly a cell is colored, from 0 to 8: the mean of a measure, failures being 0."""
    if measure is None:
        return 0
    known = [value for row in trials if not row.pending and (value := measure_trial(row, measure)) is not None]
    return round(LEVELS * min(max(fmean(known), 0.0), 1.0)) if known else 0
