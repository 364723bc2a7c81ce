"""Aggregation of grading reports as in the published benchmark: rates per seed, their mean and standard error.

The i-th seed is the i-th report of every competition, with files in the order of their names. Reports of Assay and of
the published benchmark are read alike.
"""

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ValidationError

from assay.core.errors import RecordError, UsageError
from assay.core.text import one_line
from assay.core.untrusted import read_json
from assay.results.statistics import wilson_interval

RATES = {
    "submission_exists_percentage": "submission_exists",
    "valid_submissions_percentage": "valid_submission",
    "above_median_percentage": "above_median",
    "gold_medal_percentage": "gold_medal",
    "silver_medal_percentage": "silver_medal",
    "bronze_medal_percentage": "bronze_medal",
    "any_medal_percentage": "any_medal",
}


class CompetitionResult(BaseModel):
    """The part of a competition report that rates are computed from."""

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
class RateSummary:
    """One rate over seeds, in per cent, with a Wilson interval over all trials, which stays within 0 and 100."""

    per_seed: tuple[float, ...]
    mean: float
    standard_error: float
    low: float
    high: float


@dataclass(frozen=True)
class Aggregate:
    """All rates over the competitions of a split, and the probability of a medal in k attempts."""

    competitions: int
    seeds: int
    padded: int
    rates: Mapping[str, RateSummary]
    pass_at: Mapping[int, float]


def read_reports(paths: Iterable[Path]) -> dict[str, list[CompetitionResult]]:
    """Return the results in these report files by competition, in the order of the file names."""
    results: dict[str, list[CompetitionResult]] = defaultdict(list)
    for path in sorted(paths):
        try:
            found = [CompetitionResult.model_validate(entry) for entry in read_json(path)["competition_reports"]]
        except (OSError, RecordError, ValueError, KeyError, TypeError, ValidationError) as error:
            raise UsageError(
                f"{path} is not a grading report: {type(error).__name__}: {one_line(str(error), 200)}"
            ) from None
        for result in sorted(found, key=lambda one: one.competition_id):
            results[result.competition_id].append(result)
    rules = {(one.edition, one.variant) for some in results.values() for one in some}
    if len(rules) > 1:
        names = ", ".join(f"{edition}/{variant}" for edition, variant in sorted(rules))
        raise UsageError(f"These reports use different editions or variants and cannot be aggregated: {names}")
    return dict(results)


def aggregate_reports(
    results: Mapping[str, Sequence[CompetitionResult]],
    split: Sequence[str],
    *,
    seeds: int | None = None,
    pad_missing: bool = False,
) -> Aggregate:
    """Return the rates over the competitions of `split`.

    By default the number of seeds is the smallest number of reports of any competition, and a competition without
    reports is an error. With `pad_missing` it is the largest number, and a missing report counts as a failure.
    """
    if not split:
        raise UsageError("The split has no competitions")
    counts = {name: len(results.get(name, ())) for name in split}
    absent = [name for name, count in counts.items() if count == 0]
    if absent and not pad_missing:
        raise UsageError(
            f"No report for {', '.join(absent)}; pass more reports, or --pad-missing to count them as failures"
        )
    available = max(counts.values()) if pad_missing else min(counts.values())
    if available == 0 or (seeds or 0) > available:
        raise UsageError(f"--seeds {seeds or 1}: the reports have only {available}")
    wanted = seeds or available
    table = {name: _first(results.get(name, ()), wanted, name) for name in split}
    padded = sum(max(0, wanted - counts[name]) for name in split)
    rates = {
        name: _summary([[getattr(one, field) for one in table[task]] for task in split])
        for name, field in RATES.items()
    }
    return Aggregate(len(split), wanted, padded, rates, _pass_at(table.values(), wanted))


def pass_at_k(attempts: int, successes: int, k: int) -> float:
    """Return the probability that one of k attempts drawn without replacement succeeds: `1 - C(n - c, k) / C(n, k)`."""
    return 1.0 - math.comb(attempts - successes, k) / math.comb(attempts, k)


def _first(found: Sequence[CompetitionResult], wanted: int, name: str) -> list[CompetitionResult]:
    return [*found[:wanted], *[CompetitionResult(competition_id=name)] * max(0, wanted - len(found))]


def _summary(hits: Sequence[Sequence[bool]]) -> RateSummary:
    """Return a rate from one row of seeds per competition."""
    per_seed = [100 * statistics.fmean(seed) for seed in zip(*hits, strict=True)]
    error = statistics.stdev(per_seed) / math.sqrt(len(per_seed)) if len(per_seed) > 1 else 0.0
    low, high = wilson_interval(sum(map(sum, hits)), len(hits) * len(per_seed))
    return RateSummary(tuple(per_seed), statistics.fmean(per_seed), error, 100 * low, 100 * high)


def _pass_at(table: Iterable[Sequence[CompetitionResult]], seeds: int) -> dict[int, float]:
    won = [sum(one.any_medal for one in results) for results in table]
    return {k: 100 * statistics.fmean(pass_at_k(seeds, count, k) for count in won) for k in range(1, seeds + 1)}
