"""Aggregation of grading reports: rates per seed, their mean, three kinds of standard error, and an interval.

The i-th seed is the i-th report of every competition, with files in the order of their names. Reports of Assay and of
the published benchmark are read alike.
"""

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from assay.core.errors import RecordError, UsageError
from assay.core.text import one_line
from assay.core.untrusted import read_json
from assay.results import inference
from assay.results.claims import Claim, claim_attempts, claim_sample, complete_outcomes
from assay.results.inference import ErrorKind

RATES = {
    "submission_exists_percentage": "submission_exists",
    "valid_submissions_percentage": "valid_submission",
    "above_median_percentage": "above_median",
    "gold_medal_percentage": "gold_medal",
    "silver_medal_percentage": "silver_medal",
    "bronze_medal_percentage": "bronze_medal",
    "any_medal_percentage": "any_medal",
}
_WITHOUT_LEADERBOARD = ("submission_exists", "valid_submission")


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
    """One rate: the claim on tasks like these, and in percent the rates by seed and the standard errors by kind."""

    claim: Claim
    per_seed: tuple[float, ...]
    errors: Mapping[ErrorKind, float | None]

    @property
    def mean(self) -> float:
        """The mean over competitions, in percent."""
        return 100 * self.claim.value

    @property
    def low(self) -> float:
        """The lower end of the 95% interval, in percent."""
        return 100 * self.claim.low

    @property
    def high(self) -> float:
        """The upper end of the 95% interval, in percent."""
        return 100 * self.claim.high


@dataclass(frozen=True)
class Aggregate:
    """All rates over the competitions of a split, and the probability that one, or all, of k attempts win a medal.

    `variants` are those of the data that are not real: on them, nothing that needs a human leaderboard has a rate.
    """

    competitions: int
    seeds: int
    padded: int
    rates: Mapping[str, RateSummary]
    pass_at: Mapping[int, Claim]
    pass_all: Mapping[int, Claim]
    variants: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, with rates and probabilities in percent."""
        return {
            "competitions": self.competitions,
            "seeds": self.seeds,
            "padded": self.padded,
            "rates": {
                name: {"per_seed": list(rate.per_seed), "mean": rate.mean, "errors": dict(rate.errors), "low": rate.low,
                       "high": rate.high, "population": rate.claim.population}
                for name, rate in self.rates.items()
            },
            **{
                name: {k: {"value": 100 * claim.value, "low": 100 * claim.low, "high": 100 * claim.high}
                       for k, claim in curve.items()}
                for name, curve in (("pass_at", self.pass_at), ("pass_all", self.pass_all))
            },
            "variants": list(self.variants),
        }  # fmt: skip


def read_reports(paths: Iterable[Path]) -> dict[str, list[CompetitionResult]]:
    """Return the results of one agent in these report files by competition, in the order of the file names."""
    by_agent = read_reports_by_agent(paths)
    if len(by_agent) > 1:
        raise UsageError(f"These reports are of different agents: {', '.join(str(agent) for agent in by_agent)}")
    return next(iter(by_agent.values()), {})


def read_reports_by_agent(paths: Iterable[Path]) -> dict[str | None, dict[str, list[CompetitionResult]]]:
    """Return the results in these report files by agent; None is the agent of reports that do not name one."""
    files: dict[str | None, list[Path]] = defaultdict(list)
    for path in sorted(paths):
        agent = _read_report(path).get("agent")
        files[agent if isinstance(agent, str) else None].append(path)
    return {agent: _read_results(own) for agent, own in files.items()}


def _read_report(path: Path) -> dict[str, Any]:
    try:
        content = read_json(path)
        if not isinstance(content, dict):
            raise TypeError("it is not an object")
        return content
    except (OSError, RecordError, ValueError, TypeError) as error:
        raise UsageError(
            f"{path} is not a grading report: {type(error).__name__}: {one_line(str(error), 200)}"
        ) from None


def _read_results(paths: Iterable[Path]) -> dict[str, list[CompetitionResult]]:
    results: dict[str, list[CompetitionResult]] = defaultdict(list)
    for path in paths:
        try:
            entries = [CompetitionResult.model_validate(entry) for entry in _read_report(path)["competition_reports"]]
        except (ValueError, KeyError, TypeError, ValidationError) as error:
            raise UsageError(
                f"{path} is not a grading report: {type(error).__name__}: {one_line(str(error), 200)}"
            ) from None
        for result in sorted(entries, key=lambda entry: entry.competition_id):
            results[result.competition_id].append(result)
    rules = {(result.edition, result.variant) for by_seed in results.values() for result in by_seed}
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
    families: inference.Families | None = None,
) -> Aggregate:
    """Return the rates over the competitions of `split`.

    All reports count: competitions with different numbers of reports are an error, unless `seeds` says how many are
    used, the first by file name. With `pad_missing` a missing report counts as a failure, up to the largest number.
    Competitions of one of the `families` are one observation of the interval.
    """
    if not split:
        raise UsageError("The split has no competitions")
    counts = {name: len(results.get(name, ())) for name in split}
    absent = [name for name, count in counts.items() if count == 0]
    if absent and not pad_missing:
        raise UsageError(
            f"No report for {', '.join(absent)}; pass more reports, or --pad-missing to count them as failures"
        )
    if seeds is None and not pad_missing and len(set(counts.values())) > 1:
        fewest = min(counts, key=lambda name: counts[name])
        dropped = sum(counts.values()) - min(counts.values()) * len(split)
        raise UsageError(
            f"{fewest} has {counts[fewest]} of up to {max(counts.values())} reports; pass --seeds {counts[fewest]} to "
            f"leave {dropped} of {sum(counts.values())} reports out, or --pad-missing to count missing ones as failures"
        )
    available = max(counts.values()) if pad_missing else min(counts.values())
    if available == 0 or (seeds or 0) > available:
        raise UsageError(f"--seeds {seeds or 1}: the reports have only {available}")
    used = seeds or available
    table = {name: _first(results.get(name, ()), used, name) for name in split}
    padded = sum(max(0, used - counts[name]) for name in split)
    variants = tuple(sorted({result.variant for by_seed in results.values() for result in by_seed} - {"real"}))
    rates = {
        name: _summarize(field, {task: [float(getattr(r, field)) for r in table[task]] for task in split}, families)
        for name, field in RATES.items()
        if not variants or field in _WITHOUT_LEADERBOARD
    }
    if variants:
        return Aggregate(len(split), used, padded, rates, pass_at={}, pass_all={}, variants=variants)
    medals = {name: [float(result.any_medal) for result in by_seed] for name, by_seed in table.items()}
    pass_at, pass_all = claim_attempts(complete_outcomes("", "any_medal", medals), families)
    return Aggregate(len(split), used, padded, rates, pass_at, pass_all)


def _first(results: Sequence[CompetitionResult], seeds: int, name: str) -> list[CompetitionResult]:
    return [*results[:seeds], *[CompetitionResult(competition_id=name)] * max(0, seeds - len(results))]


def _summarize(field: str, hits: inference.Sample, families: inference.Families | None) -> RateSummary:
    """Return a rate from the results of each competition by seed."""
    errors = inference.standard_errors(hits)
    return RateSummary(
        claim=claim_sample("", field, hits, families=families),
        per_seed=tuple(100 * statistics.fmean(seed) for seed in zip(*hits.values(), strict=True)),
        errors={kind: None if error is None else 100 * error for kind, error in errors.items()},
    )
