"""`assay published`."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import click

from assay.cli.output import as_json, echo, open_registry, open_run, print_table, run_argument
from assay.results.aggregate import RateSummary
from assay.results.collect import collect_outcomes
from assay.studies.earlier_leaderboard import load_earlier_rows
from assay.studies.published import (
    SPLITS,
    LeaderboardRow,
    load_leaderboard,
    rate_agents,
    recompute_known,
    verify_reports,
)

_HEADER = ["agent", "models", "hours", "date", *(f"{split}, %" for split in SPLITS)]


@click.group("published")
def published_command() -> None:
    """Show, verify and compare with the published leaderboard of MLE-bench.

    \b
    Examples:
      assay published table
      assay published verify mle-bench/runs
      assay published compare runs/mine
    """


@published_command.command("table")
@click.option(
    "--earlier", is_flag=True, help="Show it as it was until November 2025, when errors followed several rules."
)
@as_json
@click.pass_obj
def table(folders: tuple[Path, ...], earlier: bool, json_: bool) -> None:
    """Show the published leaderboard, with honest errors where its reports are known.

    With --earlier, each row as it was before all of them were recomputed by one rule, and what it became.

    \b
    Examples:
      assay published table
      assay published table --earlier
      assay published table --json
    """
    if earlier:
        _show_earlier(json_)
        return
    known = recompute_known(_splits(folders))
    if json_:
        rows = [asdict(row) | {"recomputed": _as_json(known.get(row.agent))} for row in load_leaderboard()]
        echo(json.dumps({"format": "published/1", "error": "over seeds, as published", "rows": rows}, indent=2))
        return
    lines = []
    for row in load_leaderboard():
        lines.append(_row(row))
        if rates := known.get(row.agent):
            errors = [f"{rate.mean:.2f} ± {rate.errors['tasks'] or 0:.2f}" for rate in rates.values()]
            intervals = [f"{rate.low:.1f} to {rate.high:.1f}" for rate in rates.values()]
            lines.append(["  clustered by task", "", "", "", *errors])
            lines.append(["  95% interval over tasks", "", "", "", *intervals])
    print_table(_HEADER, lines)
    echo("Share of competitions with a medal. ±: standard error over seeds, as published; it takes the tasks as fixed.")
    echo("*: leakage is known. Only rows whose reports are known can be given an error clustered by task.")


def _show_earlier(json_: bool) -> None:
    rows = load_earlier_rows()
    if json_:
        echo(json.dumps({"format": "published-earlier/1", "rows": [asdict(row) for row in rows]}, indent=2))
        return
    lines = []
    for row in rows:
        lines.append([*_row(row.earlier), row.rule or "–"])
        if row.changes:
            cells = [_format_rate(row.now, split) if split in row.changes else "" for split in SPLITS]
            name = "  now" if row.now.agent == row.earlier.agent else f"  now {row.now.agent}"
            lines.append([name, "", "", "", *cells, ""])
    print_table([*_HEADER, "± was the"], lines)
    only_error = sum(bool(row.changes) and set(row.changes.values()) == {"error"} for row in rows)
    means = sum(any(what.startswith("mean") for what in row.changes.values()) for row in rows)
    echo("Share of competitions with a medal, as published until November 2025; now: what changed, ± over seeds.")
    echo(f"Of {len(rows)} rows, {only_error} have another error and the same means, and {means} have other means.")
    echo("–: other reports were counted, or the errors of the splits follow no single rule.")


@published_command.command("verify")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR")
@as_json
@click.pass_obj
def verify(folders: tuple[Path, ...], folder: Path, json_: bool) -> None:
    """Prove published reports by checksum and recompute their rows.

    DIR is a checkout of the published repository, or its folder `runs`, with the report files themselves rather than
    pointers to them. Exits with 1 if a file or a figure differs.

    \b
    Examples:
      assay published verify mle-bench/runs
    """
    found = verify_reports(folder, _splits(folders))
    if json_:
        content = {"format": "published-verification/1", "files": found.files, "wrong": found.wrong}
        rows = [
            {"row": one.row.name, "rates": _as_json(one.rates), "differences": one.differences} for one in found.rows
        ]
        echo(json.dumps(content | {"rows": rows, "incomplete": found.incomplete}, indent=2))
    else:
        echo("Report files: " + ", ".join(f"{count} {state}" for state, count in found.files.items()))
        for path in found.wrong:
            echo(f"  {path}: not the published file")
        for one in found.rows:
            verdict = "; ".join(one.differences) or "all figures as published"
            task_error = one.rates["all"].errors["tasks"]
            echo(f"{one.row.name}: {verdict}; ± {task_error or 0:.2f} clustered by task")
        echo("Compared to two decimals: means, and the published ±, which is the standard error over seeds.")
        if found.incomplete:
            count = f"{len(found.incomplete)} of {len(load_leaderboard())} rows"
            echo(f"Not recomputed, because reports are missing: {count}")
    if found.wrong or any(one.differences for one in found.rows):
        raise click.exceptions.Exit(1)


@published_command.command("compare")
@run_argument
@as_json
@click.pass_obj
def compare(folders: tuple[Path, ...], folder: Path, json_: bool) -> None:
    """Show the agents of a run between the rows of the published leaderboard.

    A split is shown only if the run has every competition of it, on real data in edition v1.

    \b
    Examples:
      assay published compare runs/mine
    """
    mine = rate_agents(collect_outcomes(open_run(folder)), _splits(folders))
    if json_:
        content = {
            "format": "published-comparison/2",
            "error": "clustered by task",
            "agents": {agent: _as_json(rates) for agent, rates in mine.items()},
            "published_error": "over seeds",
            "published": [asdict(row) for row in load_leaderboard()],
        }
        echo(json.dumps(content, indent=2))
        return
    lines = [(_row(row), [row.rates[split][0] for split in SPLITS]) for row in load_leaderboard()]
    for agent, rates in mine.items():
        cells = [f"> {agent}", "", "", "", *(_cell(rates, split) for split in SPLITS)]
        lines.append((cells, [rates[split].mean if split in rates else -1.0 for split in SPLITS]))
    lines.sort(key=lambda line: line[1][::-1], reverse=True)  # by all, then by high, medium, low
    print_table(_HEADER, [cells for cells, _ in lines])
    echo("±: clustered by task for the run (>), over seeds for published rows. The latter is several times smaller.")


def _splits(folders: Sequence[Path]) -> dict[str, list[str]]:
    registry = open_registry(folders)
    return {split: registry.names(f"mlebench:{split}") for split in SPLITS}


def _row(row: LeaderboardRow) -> list[str]:
    name = f"{row.agent}{'*' if row.known_leakage else ''}"
    cells = [_format_rate(row, split) for split in SPLITS]
    return [name, row.models if len(row.models) <= 30 else f"{row.models[:29]}…", str(row.hours), row.date, *cells]


def _format_rate(row: LeaderboardRow, split: str) -> str:
    mean, error = row.rates[split]
    return f"{mean:.2f} ± {error:.2f}"


def _cell(rates: Mapping[str, RateSummary], split: str) -> str:
    rate = rates.get(split)
    if rate is None:
        return "–"
    error = rate.errors["tasks"]
    return f"{rate.mean:.2f}" if error is None else f"{rate.mean:.2f} ± {error:.2f}"


def _as_json(rates: Mapping[str, RateSummary] | None) -> dict[str, object] | None:
    return {split: asdict(rate) for split, rate in rates.items()} if rates else None
