"""The published leaderboard before November 2025, when all its errors were recomputed by one rule.

Until then, the authors of each row computed its error themselves: standard errors, standard deviations, twice the
standard error, and errors over all attempts all appeared as ±. Each earlier row is compared here with what it became.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from assay.suites.mlebench.studies.published import SPLITS, LeaderboardRow, load_leaderboard, read_csv, read_row

FILE = "published_leaderboard_2025.csv"
_ROUNDING = 0.011
"""How far apart two figures with two decimals can be if both were rounded."""


@dataclass(frozen=True)
class EarlierRow:
    """A row as it was, the row that it became, and the rule that its errors follow.

    `changes` has, by split, whether the mean, the error or both differ by more than rounding. The rule is None if its
    errors follow none of the known ones in all splits, or if the means differ, so that other reports were counted.
    """

    earlier: LeaderboardRow
    now: LeaderboardRow
    changes: Mapping[str, str]
    rule: str | None


@cache
def load_earlier_rows() -> tuple[EarlierRow, ...]:
    """Return the leaderboard as it was in November 2025, best first, each row with what it became."""
    today = {(row.agent, row.models, row.hours): row for row in load_leaderboard()}
    rows = []
    for cells in read_csv(FILE):
        earlier = read_row(cells)
        now = today[cells["now"], earlier.models, earlier.hours]
        slack = {split: _slack(cells[split], cells[f"{split}_error"]) for split in SPLITS}
        changes = {split: what for split in SPLITS if (what := _compare(earlier, now, split, slack[split]))}
        same_reports = not any(what.startswith("mean") for what in changes.values())
        rows.append(EarlierRow(earlier, now, changes, find_rule(earlier, now, slack) if same_reports else None))
    return tuple(rows)


def find_rule(earlier: LeaderboardRow, now: LeaderboardRow, slack: Mapping[str, float]) -> str | None:
    """Return which rule gives the earlier errors, from today's means and standard errors over seeds."""
    seeds = len(now.groups)
    factors = {
        "standard error over seeds": 1.0,
        "standard deviation over seeds": math.sqrt(seeds),
        "standard deviation over seeds, of a population": math.sqrt(seeds - 1),
        "twice the standard error over seeds": 2.0,
    }
    rules = {
        name: {split: factor * error for split, (_, error) in now.rates.items()} for name, factor in factors.items()
    }
    rules["standard error over all attempts"] = {
        split: 100 * math.sqrt(mean / 100 * (1 - mean / 100) / (_TASKS[split] * seeds))
        for split, (mean, _) in now.rates.items()
    }
    for name, errors in rules.items():
        # Today's errors are rounded as well, and a factor makes that larger.
        spread = factors.get(name, 1.0)
        if all(abs(errors[split] - earlier.rates[split][1]) <= spread * slack[split] for split in SPLITS):
            return name
    return None


_TASKS = {"low": 22, "medium": 38, "high": 15, "all": 75}


def _compare(earlier: LeaderboardRow, now: LeaderboardRow, split: str, slack: float) -> str:
    (mean, error), (mean_now, error_now) = earlier.rates[split], now.rates[split]
    differ = [
        name
        for name, before, after in (("mean", mean, mean_now), ("error", error, error_now))
        if abs(before - after) > slack
    ]
    return " and ".join(differ)


def _slack(*figures: str) -> float:
    """Return how far a figure can be off by rounding: those with fewer decimals by more."""
    decimals = min((len(figure.partition(".")[2]) for figure in figures if float(figure)), default=2)
    return {0: 0.51, 1: 0.051}.get(decimals, _ROUNDING)
