"""Grading reports added up as the published benchmark adds them up: rates per seed, their mean and standard error.

The i-th seed is the i-th report of every competition, files in the order of their names. Reports of ours and published
ones are read alike.
"""

import json
import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ValidationError

from assay.core.errors import UsageError
from assay.results.statistics import wilson

RATES = {
    "submission_exists_percentage": "submission_exists",
    "valid_submissions_percentage": "valid_submission",
    "above_median_percentage": "above_median",
    "gold_medal_percentage": "gold_medal",
    "silver_medal_percentage": "silver_medal",
    "bronze_medal_percentage": "bronze_medal",
    "any_medal_percentage": "any_medal",
}


class Result(BaseModel):
    """The part of a competition report that rates are made of."""

    competition_id: str
    submission_exists: bool = False
    valid_submission: bool = False
    above_median: bool = False
    gold_medal: bool = False
    silver_medal: bool = False
    bronze_medal: bool = False
    any_medal: bool = False
    edition: str = "v1"
    variant: str = "real"


@dataclass(frozen=True)
class Summary:
    """One rate over seeds, in per cent. The interval is Wilson's over all trials, so it stays within 0 and 100."""

    per_seed: tuple[float, ...]
    mean: float
    standard_error: float
    low: float
    high: float


@dataclass(frozen=True)
class Aggregate:
    """All rates over the competitions of a split, and the chance of a medal in k tries."""

    competitions: int
    seeds: int
    padded: int
    rates: Mapping[str, Summary]
    pass_at: Mapping[int, float]


def read_reports(paths: Iterable[Path]) -> dict[str, list[Result]]:
    """The results in these report files, by competition, in the order of the files' names."""
    results: dict[str, list[Result]] = defaultdict(list)
    for path in sorted(paths):
        try:
            found = [Result.model_validate(entry) for entry in json.loads(path.read_text())["competition_reports"]]
        except (OSError, ValueError, KeyError, TypeError, ValidationError) as error:
            raise UsageError(f"{path} is not a grading report: {type(error).__name__}: {str(error)[:200]}") from None
        for result in sorted(found, key=lambda one: one.competition_id):
            results[result.competition_id].append(result)
    rules = {(one.edition, one.variant) for some in results.values() for one in some}
    if len(rules) > 1:
        listed = ", ".join(f"{edition}/{variant}" for edition, variant in sorted(rules))
        raise UsageError(f"these reports are judged by different rules ({listed}) and cannot be added up")
    return dict(results)


def aggregate(
    results: Mapping[str, Sequence[Result]],
    split: Sequence[str],
    *,
    seeds: int | None = None,
    pad_missing: bool = False,
) -> Aggregate:
    """Rates over the competitions of `split`.

    Without `pad_missing` the number of seeds is the smallest count of reports of any competition, and one that has none
    is an error; with it, it is the largest, and what is missing counts as a failure.
    """
    if not split:
        raise UsageError("the split names no competition")
    counts = {name: len(results.get(name, ())) for name in split}
    absent = [name for name, count in counts.items() if count == 0]
    if absent and not pad_missing:
        raise UsageError(
            f"no report for {', '.join(absent)}; give more reports, or --pad-missing to count them as failures"
        )
    available = max(counts.values()) if pad_missing else min(counts.values())
    if available == 0 or (seeds or 0) > available:
        raise UsageError(f"{seeds or 1} seeds are asked for, but the reports hold {available}")
    wanted = seeds or available
    table = {name: _first(results.get(name, ()), wanted, name) for name in split}
    padded = sum(max(0, wanted - counts[name]) for name in split)
    rates = {
        name: _summary([[getattr(one, field) for one in table[task]] for task in split])
        for name, field in RATES.items()
    }
    return Aggregate(len(split), wanted, padded, rates, _pass_at(table.values(), wanted))


def pass_at_k(tries: int, successes: int, k: int) -> float:
    """The chance that at least one of k tries drawn without replacement succeeds: `1 - C(n - c, k) / C(n, k)`."""
    return 1.0 - math.comb(tries - successes, k) / math.comb(tries, k)


def _first(found: Sequence[Result], wanted: int, name: str) -> list[Result]:
    return [*found[:wanted], *[Result(competition_id=name)] * max(0, wanted - len(found))]


def _summary(hits: Sequence[Sequence[bool]]) -> Summary:
    """A rate from one row of seeds per competition."""
    per_seed = [100 * statistics.fmean(seed) for seed in zip(*hits, strict=True)]
    error = statistics.stdev(per_seed) / math.sqrt(len(per_seed)) if len(per_seed) > 1 else 0.0
    low, high = wilson(sum(map(sum, hits)), len(hits) * len(per_seed))
    return Summary(tuple(per_seed), statistics.fmean(per_seed), error, 100 * low, 100 * high)


def _pass_at(table: Iterable[Sequence[Result]], seeds: int) -> dict[int, float]:
    won = [sum(one.any_medal for one in results) for results in table]
    return {k: 100 * statistics.fmean(pass_at_k(seeds, count, k) for count in won) for k in range(1, seeds + 1)}
