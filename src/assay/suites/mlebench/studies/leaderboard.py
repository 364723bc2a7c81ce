"""`assay study leaderboard`: the published leaderboard of MLE-bench, shown, verified, or with the agents of a run."""

from collections.abc import Mapping, Sequence

from pydantic import DirectoryPath

from assay.core.table import Column, Formatted, Style, Table, Value
from assay.core.values import Estimate
from assay.results.aggregate import RateSummary
from assay.results.frame import read_frame
from assay.studies.study import Study, StudyInput, StudyResult, StudySettings, option
from assay.suites.mlebench.studies.earlier import load_earlier_rows
from assay.suites.mlebench.studies.published import (
    SPLITS,
    LeaderboardRow,
    load_leaderboard,
    rate_agents,
    recompute_known,
    verify_reports,
)

_IDENTITY = (
    Column("agent"),
    Column("models"),
    Column("hours", kind="integer"),
    Column("date", "date"),
    Column("known_leakage", kind="flag", data_only=True),
)
_RATES = tuple(Column(split, f"{split}, %", "estimate") for split in SPLITS)
_SHARE = "Share of competitions with a medal."


class LeaderboardSettings(StudySettings):
    """Which form of the leaderboard."""

    earlier: bool = option(False, "Show it as it was until November 2025, when errors followed several rules.")
    verify: DirectoryPath | None = option(
        None,
        "Prove the reports in a checkout of the published repository by checksum and recompute their rows.",
        metavar="DIR",
    )


def run(source: StudyInput, settings: LeaderboardSettings) -> StudyResult:
    """Show the leaderboard, verify it, or show the agents of runs between its rows."""
    splits = {split: source.registry.names(f"mlebench:{split}") for split in SPLITS}
    if settings.verify:
        return _verify(settings, splits)
    if settings.earlier:
        return _show_earlier()
    if source.runs:
        return _compare(rate_agents(read_frame(*source.runs), splits))
    known = recompute_known(splits)
    notes = (
        f"{_SHARE} ±: standard error over seeds, as published; it takes the tasks as fixed.",
        "*: leakage is known. Only rows whose reports are known can have an error clustered by task.",
    )
    tables = [
        Table("leaderboard", (*_IDENTITY, *_RATES), tuple(map(_make_row, load_leaderboard())), notes=notes),
        _make_rate_table("recomputed", known, "Recomputed from known medals"),
    ]
    return StudyResult(["Published leaderboard of MLE-bench, February 2026"], tables)


def _show_earlier() -> StudyResult:
    rows = load_earlier_rows()
    columns = (*_IDENTITY, *_RATES, Column("rule", "± was the"))
    changes = [
        (
            row.earlier.agent,
            row.now.agent,
            *(_estimate(*row.now.rates[split]) if split in row.changes else None for split in SPLITS),
        )
        for row in rows
        if row.changes
    ]
    only_error = sum(bool(row.changes) and set(row.changes.values()) == {"error"} for row in rows)
    means = sum(any(what.startswith("mean") for what in row.changes.values()) for row in rows)
    sentences = [
        f"{_SHARE[:-1]}, as published until November 2025",
        f"Of {len(rows)} rows, {only_error} have another error and the same means, and {means} have other means.",
    ]
    missing = "–: other reports were counted, or the errors of the splits follow no single rule."
    earlier = tuple((*_make_row(row.earlier), row.rule) for row in rows)
    tables = [
        Table("earlier", columns, earlier, notes=(missing,)),
        Table("now", (Column("agent"), Column("now"), *_RATES), tuple(changes), "What changed, ± over seeds"),
    ]
    return StudyResult(sentences, tables)


def _verify(settings: LeaderboardSettings, splits: Mapping[str, Sequence[str]]) -> StudyResult:
    assert settings.verify is not None
    verified = verify_reports(settings.verify, splits)
    sentences = ["Report files: " + ", ".join(f"{count} {state}" for state, count in verified.files.items())]
    sentences += [f"{path}: not the published file" for path in verified.wrong]
    if verified.incomplete:
        count = f"{len(verified.incomplete)} of {len(load_leaderboard())} rows"
        sentences.append(f"Not recomputed, because reports are missing: {count}")
    columns = (Column("row"), Column("result", kind="prose"), Column("error", "± clustered by task", "number"))
    rows = [
        (check.row.name, "; ".join(check.differences) or "all figures as published", check.rates["all"].errors["tasks"])
        for check in verified.rows
    ]
    note = "Compared to two decimals: means, and the published ±, which is the standard error over seeds."
    rates = {check.row.name: check.rates for check in verified.rows}
    tables = [Table("rows", columns, tuple(rows), notes=(note,)), _make_rate_table("recomputed", rates)]
    extra = {"wrong": verified.wrong, "incomplete": verified.incomplete}
    counted = (Column("state"), Column("files", kind="integer"))
    states = Table("files", counted, tuple(verified.files.items()), extra=extra)
    failed = bool(verified.wrong) or any(check.differences for check in verified.rows)
    return StudyResult(sentences, tables, more=[states], failed=failed)


def _compare(agents: Mapping[str, Mapping[str, RateSummary]]) -> StudyResult:
    lines: list[tuple[list[float], tuple[Value, ...], Style]] = [
        ([row.rates[split][0] for split in SPLITS], ("", *_make_row(row)), "") for row in load_leaderboard()
    ]
    for agent, rates in agents.items():
        cells = [_state(rates[split]) if split in rates else None for split in SPLITS]
        means = [rates[split].mean if split in rates else -1.0 for split in SPLITS]
        lines.append((means, (">", agent, None, None, None, None, *cells), "best"))
    lines.sort(key=lambda line: line[0][::-1], reverse=True)  # by all, then by high, medium, low
    note = (
        "±: clustered by task for the run (>), with the 95% interval on tasks like these. For published rows it is "
        "over seeds, which is several times smaller."
    )
    columns = (Column("run", " "), *_IDENTITY, *_RATES)
    rows, styles = tuple(cells for _, cells, _ in lines), tuple(style for *_, style in lines)
    table = Table("leaderboard", columns, rows, notes=(note,), styles=styles)
    own = _make_rate_table("agents", agents)
    return StudyResult([f"{_SHARE} A split is shown only if the run has every competition of it."], [table], more=[own])


def _make_rate_table(name: str, rates: Mapping[str, Mapping[str, RateSummary]], title: str = "") -> Table:
    columns = (
        Column("agent", heading=True),
        Column("split"),
        Column("rate", "rate, % (95% on tasks like these)", "rate"),
        Column("error", "±, %", "number", data_only=True),
        Column("seeds", "± over seeds, %", "number"),
    )
    rows = [
        (
            agent,
            split,
            Formatted(rate.claim, _state(rate).text),
            rate.errors["tasks"],
            rate.errors["seeds"],
        )
        for agent, by_split in rates.items()
        for split, rate in by_split.items()
    ]
    return Table(name, columns, tuple(rows), title, notes=("±: standard error clustered by task.",) if rows else ())


def _make_row(row: LeaderboardRow) -> tuple[Value, ...]:
    name = Formatted(row.agent, f"{row.agent}{'*' if row.known_leakage else ''}")
    models = Formatted(row.models, row.models if len(row.models) <= 30 else f"{row.models[:29]}…")
    rates = (_estimate(*row.rates[split]) for split in SPLITS)
    return (name, models, row.hours, row.date, row.known_leakage, *rates)


def _state(rate: RateSummary) -> Formatted:
    """Return a rate beside published ones, in percent as they are, but with its interval."""
    stated = _estimate(rate.mean, rate.errors["tasks"])
    return Formatted(stated.value, f"{stated.text} ({rate.low:.1f}–{rate.high:.1f})")


def _estimate(mean: float, error: float | None) -> Formatted:
    text = f"{mean:.2f}" if error is None else f"{mean:.2f} ± {error:.2f}"
    return Formatted(Estimate(1, mean, error, mean, mean), text)


STUDY = Study(
    name="leaderboard",
    summary="Show, verify and compare with the published leaderboard of MLE-bench.",
    settings=LeaderboardSettings,
    run=run,
    reads="optional runs",
    description="Without a run, the published rows, with errors clustered by task where their reports are known. With "
    "runs on real data in edition v1, their agents between the published rows. --verify needs a checkout of the "
    "published repository, or its folder runs, with the report files themselves rather than pointers to them, and "
    "exits with 1 if a file or a figure differs.",
    examples=(
        "assay study leaderboard",
        "assay study leaderboard --earlier",
        "assay study leaderboard --verify mle-bench/runs",
        "assay study leaderboard runs/mine",
    ),
)
