"""`assay status`."""

import json
import socket
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.cli.output import as_json, echo, open_run, print_tables, run_argument
from assay.core.errors import UsageError
from assay.core.table import Column, Formatted, Table
from assay.records import RunFolder, TrialFolder

if TYPE_CHECKING:
    from assay.runs.status import RunStatus, TrialStatus

_INTERVAL = 1.0
_COLUMNS = (
    Column("trial", min_width=24),
    Column("agent", min_width=12, drop=7),
    Column("seed", kind="integer", drop=3),
    Column("state", min_width=12),
    Column("score", kind="number"),
    Column("steps", kind="integer", drop=4),
    Column("time", min_width=14, drop=5),
    Column("tokens", kind="integer", drop=1),
    Column("cost", kind="cost", drop=2),
    Column("reason", kind="prose", drop=6),
    Column("node", min_width=8),
)


@click.command("status")
@run_argument
@as_json
@click.option("--follow", is_flag=True, help="Keep showing the status until the run is over.")
@click.option(
    "--trial",
    metavar="ID",
    default=None,
    help="Show the last lines of the log of one trial; the start or end of its id is enough.",
)
@click.option("--lines", default=20, show_default=True, type=click.IntRange(1), help="With --trial: number of lines.")
def status_command(folder: Path, json_: bool, follow: bool, trial: str | None, lines: int) -> None:
    """Show the progress of a run: trials by state, failures by cause, time, tokens, cost.

    Only reads, and can be used from anywhere while the run is in progress.

    \b
    Examples:
      assay status runs/first
      assay status runs/first --follow
      assay status runs/first --trial digits-starter-1-0a1b2c3d4e
    """
    from assay.runs.status import read_named_status, tail_log, utc_now

    run = open_run(folder)
    if trial:
        _print_lines(tail_log(_find_trial(run, trial), lines), json_)
    elif follow:
        _follow(run, json_)
    else:
        _print_status(read_named_status(run, utc_now()), json_)


def _find_trial(run: RunFolder, part: str) -> TrialFolder:
    """Return the one trial whose id starts or ends with `part`: where space is short, only its ends are shown."""
    matches = [
        folder for folder in run.trials() if folder.path.name.startswith(part) or folder.path.name.endswith(part)
    ]
    exact = [folder for folder in matches if folder.path.name == part]
    if len(exact) == 1:
        return exact[0]
    if not matches:
        raise UsageError(f"No trial of {run.path} is called {part}; to list them, run: assay status {run.path}")
    if len(matches) > 1:
        raise UsageError(f"{len(matches)} trials of {run.path} start or end with {part}; give more of the id")
    return matches[0]


def _print_lines(lines: list[str], json_: bool) -> None:
    from assay.core.text import one_line

    if json_:
        echo(json.dumps(lines, indent=2))
        return
    for line in lines:
        echo(one_line(line))


def _print_status(status: "RunStatus", json_: bool) -> None:
    from assay.cli.live import summarize_status
    from assay.core.quantities import format_cost, format_duration
    from assay.core.text import one_line

    if json_:
        echo(json.dumps(_to_json(status), indent=2))
        return
    elsewhere = any(trial.node not in (None, socket.gethostname()) for trial in status.trials)
    rows = [
        (
            one_line(trial.trial),
            one_line(trial.agent),
            trial.seed,
            _state(trial),
            Formatted(trial.score, "" if trial.score is None else f"{trial.score:.5g}"),
            trial.steps,
            f"{format_duration(trial.elapsed)} of {format_duration(trial.time)}",
            trial.tokens,
            format_cost(trial.cost),
            one_line(trial.why or "", 60),
            one_line(trial.node or ""),
        )
        for trial in status.trials
    ]
    columns = _COLUMNS if elsewhere else _COLUMNS[:-1]
    print_tables([Table("trials", columns, tuple(row[: len(columns)] for row in rows))])
    echo()
    for line in summarize_status(status):
        echo(line)


def _state(trial: "TrialStatus") -> str:
    return f"{trial.stage}: {trial.failure or trial.cause}" if trial.stage == "failed" else trial.stage


def _to_json(status: "RunStatus") -> dict[str, Any]:
    return {
        "run": status.name,
        "over": status.over,
        "stages": status.stages,
        "failed": status.failed,
        "elapsed": round(status.elapsed, 1),
        "left": round(status.time_left, 1),
        "tokens": status.tokens,
        "cost": round(status.cost, 6),
        "unpriced": status.unpriced,
        "trials": [asdict(trial) for trial in status.trials],
    }


def _follow(run: RunFolder, json_: bool) -> None:
    """Show the status until the run is over: a live table on a terminal, elsewhere a line for each change."""
    from assay.cli.live import show_run, summarize_status
    from assay.runs.status import TrialStatus, read_status, utc_now

    finished: dict[str, TrialStatus] = {}
    previous = None
    on_terminal = sys.stderr is not None and sys.stderr.isatty() and not json_
    with show_run(run).stage(run.name):
        while True:
            status = read_status(run, utc_now(), finished)
            if not on_terminal and status.stages != previous:
                echo(json.dumps(_to_json(status)) if json_ else summarize_status(status)[0])
                previous = status.stages
            if status.over:
                break
            time.sleep(_INTERVAL)
    if on_terminal:
        _print_status(status, json_)
