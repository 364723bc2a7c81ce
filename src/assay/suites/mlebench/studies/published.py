"""The published leaderboard of MLE-bench: its rows, and their recomputation from grading reports proven by checksum.

The reports behind the leaderboard are stored as large files that few copies of the repository contain. With such a
copy, each is proven by its SHA-256 and every row is recomputed; for two rows the medals themselves are known here.
"""

import csv
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal

from assay.core.errors import UsageError
from assay.results.aggregate import CompetitionResult, RateSummary, aggregate_reports, read_reports
from assay.results.frame import TrialRow, group_by

SPLITS = ("low", "medium", "high", "all")
_FOLDER = Path(__file__).parent
ReportState = Literal["proven", "pointer", "different", "missing"]
_POINTER = b"version https://git-lfs"
_MAX_REPORT = 50 * 10**6


@dataclass(frozen=True)
class LeaderboardRow:
    """One published row: the share of competitions with a medal by split, in percent, with the error over seeds."""

    agent: str
    models: str
    rates: Mapping[str, tuple[float, float]]
    hours: int
    date: str
    known_leakage: bool
    groups: tuple[str, ...]

    @property
    def name(self) -> str:
        """A name that no other row has."""
        return f"{self.agent} ({self.models}, {self.hours} h)"


@dataclass(frozen=True)
class RowCheck:
    """A row recomputed from its reports, and each figure that differs from the published one."""

    row: LeaderboardRow
    rates: Mapping[str, RateSummary]
    differences: tuple[str, ...]


@dataclass(frozen=True)
class Verification:
    """How many report files were proven, and every row whose reports are complete."""

    files: Mapping[ReportState, int]
    wrong: tuple[str, ...]
    rows: tuple[RowCheck, ...]
    incomplete: tuple[str, ...]


@cache
def load_leaderboard() -> tuple[LeaderboardRow, ...]:
    """Return the published leaderboard (state of February 2026), best first."""
    return tuple(map(read_row, read_csv("published_leaderboard.csv")))


def read_row(cells: Mapping[str, str]) -> LeaderboardRow:
    """Return a row of a published table."""
    return LeaderboardRow(
        agent=cells["agent"],
        models=cells["models"],
        rates={split: (float(cells[split]), float(cells[f"{split}_error"])) for split in SPLITS},
        hours=int(cells["hours"]),
        date=cells["date"],
        known_leakage=cells.get("known_leakage") == "yes",
        groups=tuple(cells.get("groups", "").split()),
    )


@cache
def load_known_medals() -> dict[str, dict[str, list[str]]]:
    """Return the medals of the rows whose reports are known: row -> competition -> medal by seed."""
    text = (_FOLDER / "known_medals.json").read_text(encoding="utf-8")
    medals: dict[str, dict[str, list[str]]] = json.loads(text)
    return medals


@cache
def load_known_counts() -> dict[str, dict[str, tuple[int, int]]]:
    """Return the medals of rows of which only the number is known, not the seeds: row -> competition -> won, seeds."""
    text = (_FOLDER / "known_medal_counts.json").read_text(encoding="utf-8")
    rows: dict[str, dict[str, list[int]]] = json.loads(text)
    return {row: {name: (won, seeds) for name, (won, seeds) in counts.items()} for row, counts in rows.items()}


def recompute_known(splits: Mapping[str, Sequence[str]]) -> dict[str, dict[str, RateSummary]]:
    """Return the rates by split of every row whose medals are known here, by the agent's name.

    Where only their number is known, there is no error over seeds.
    """
    medals = {
        agent: {name: _results(name, by_seed) for name, by_seed in row.items()}
        for agent, row in load_known_medals().items()
    }
    counted = {
        agent: {name: _results(name, ["any"] * won + ["none"] * (seeds - won)) for name, (won, seeds) in row.items()}
        for agent, row in load_known_counts().items()
    }
    rates = {
        agent: {split: _rate(results, splits[split], splits) for split in SPLITS}
        for agent, results in (medals | counted).items()
    }
    for agent in counted:
        for split, rate in rates[agent].items():
            rates[agent][split] = replace(rate, per_seed=(), errors={**rate.errors, "seeds": None})
    return rates


@cache
def load_report_hashes() -> dict[str, str]:
    """Return the SHA-256 of every published report, by its path below `runs`."""
    return {entry["path"]: entry["sha256"] for entry in read_csv("published_reports.csv")}


def verify_reports(
    folder: Path,
    splits: Mapping[str, Sequence[str]],
    *,
    hashes: Mapping[str, str] | None = None,
    leaderboard: Sequence[LeaderboardRow] | None = None,
) -> Verification:
    """Prove the reports in a checkout of the published repository, and recompute every row that is complete.

    Args:
        folder: The checkout, or its folder `runs`.
        splits: The competitions of each split.
        hashes: SHA-256 of each report by path; by default of the published ones.
        leaderboard: The rows to recompute; by default the published ones.
    """
    root = folder / "runs" if (folder / "runs").is_dir() else folder
    expected = load_report_hashes() if hashes is None else hashes
    states = {path: _check_file(root / path, sha256) for path, sha256 in expected.items()}
    if set(states.values()) == {"missing"}:
        raise UsageError(f"{folder} has none of the published reports; pass the folder of a checkout that has them")
    rows, incomplete = [], []
    for row in load_leaderboard() if leaderboard is None else leaderboard:
        paths = [path for path in states if path.partition("/")[0] in row.groups and "/hourly/" not in path]
        if all(states[path] == "proven" for path in paths):
            rows.append(_check_row(row, [root / path for path in paths], splits))
        else:
            incomplete.append(row.name)
    counts: dict[ReportState, int] = {"proven": 0, "pointer": 0, "different": 0, "missing": 0}
    for state in states.values():
        counts[state] += 1
    wrong = tuple(path for path, state in states.items() if state == "different")
    return Verification(counts, wrong, tuple(rows), tuple(incomplete))


def rate_agents(outcomes: Sequence[TrialRow], splits: Mapping[str, Sequence[str]]) -> dict[str, dict[str, RateSummary]]:
    """Return the medal rates of each agent, for the splits of which it has every competition."""
    finished = [row for row in outcomes if not row.pending and row.rules.suite == "mlebench"]
    rules = {(row.edition, row.variant) for row in finished}
    if not finished:
        raise UsageError("the run has no finished trial of mlebench, so there is nothing to compare")
    if rules != {("v1", "real")}:
        names = ", ".join(f"{edition}/{variant}" for edition, variant in sorted(rules))
        raise UsageError(
            f"only edition v1 on real data is comparable with the published leaderboard; this run has {names}"
        )
    rated: dict[str, dict[str, RateSummary]] = {}
    for own in group_by(finished, lambda row: row.agent):
        results: dict[str, list[CompetitionResult]] = {}
        for row in own:
            name = row.task.partition("/")[2]
            won = row.grade is not None and row.valid and row.grade.any_medal
            results.setdefault(name, []).append(CompetitionResult(competition_id=name, any_medal=won))
        whole = [split for split in SPLITS if all(name in results for name in splits[split])]
        rated[own[0].agent] = {split: _rate(results, splits[split], splits) for split in whole}
    return rated


def _check_file(path: Path, sha256: str) -> ReportState:
    if not path.is_file():
        return "missing"
    if path.stat().st_size > _MAX_REPORT:
        return "different"
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() == sha256:
        return "proven"
    return "pointer" if content.startswith(_POINTER) else "different"


def _check_row(row: LeaderboardRow, paths: Sequence[Path], splits: Mapping[str, Sequence[str]]) -> RowCheck:
    results = read_reports(paths)
    rates = {split: _rate(results, splits[split], splits) for split in SPLITS}
    differences = []
    for split, rate in rates.items():
        mean, error = row.rates[split]
        if abs(rate.mean - mean) >= 0.01:
            differences.append(f"{split}: {rate.mean:.2f} instead of {mean:.2f}")
        computed = rate.errors["seeds"]
        if computed is not None and abs(computed - error) >= 0.01:
            differences.append(f"{split}: ± {computed:.2f} over seeds instead of ± {error:.2f}")
    return RowCheck(row, rates, tuple(differences))


def _rate(
    results: Mapping[str, Sequence[CompetitionResult]], names: Sequence[str], splits: Mapping[str, Sequence[str]]
) -> RateSummary:
    return aggregate_reports(results, names).rates["any_medal_percentage"]


def _results(name: str, medals: Sequence[str]) -> list[CompetitionResult]:
    return [CompetitionResult(competition_id=name, any_medal=medal != "none") for medal in medals]


def read_csv(name: str) -> list[dict[str, str]]:
    """Return the rows of a table of published figures."""
    text = (_FOLDER / name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))
