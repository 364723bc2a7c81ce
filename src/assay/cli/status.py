"""`assay status`."""

import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.cli.output import as_json, table
from assay.core.errors import UsageError
from assay.records import RunFolder, TrialFolder

if TYPE_CHECKING:
    from assay.runs.status import RunStatus, TrialStatus

_EVERY = 1.0


@click.command("status")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="RUN")
@as_json
@click.option("--follow", is_flag=True, help="Go on until every trial is over.")
@click.option("--trial", metavar="ID", default=None, help="Show the last lines of one trial's record.")
@click.option("--lines", default=20, show_default=True, type=click.IntRange(1), help="With --trial: how many.")
def status_command(folder: Path, json_: bool, follow: bool, trial: str | None, lines: int) -> None:
    """Show how far a run has come: trials waiting, running, done, failed and by whose fault; time, tokens, money.

    It only reads, and may be called from anywhere while the run goes on.

    \b
    Example:
      assay status runs/first
      assay status runs/first --follow
      assay status runs/first --trial digits-starter-1-0a1b2c3d4e
    """
    from assay.runs.status import read_status, tail_log, utc_now

    run = RunFolder(folder)
    if trial:
        _print_lines(tail_log(_trial(run, trial), lines), json_)
    elif follow:
        _follow(run, json_)
    else:
        _print(read_status(run, utc_now()), json_)


def _trial(run: RunFolder, name: str) -> TrialFolder:
    """The one trial whose id begins like this."""
    found = [folder for folder in run.trials() if folder.path.name.startswith(name)]
    exact = [folder for folder in found if folder.path.name == name]
    if len(exact or found) != 1:
        raise UsageError(f"{len(found)} trials of {run.path} are called {name}…; `assay status {run.path}` lists them")
    return (exact or found)[0]


def _print_lines(lines: list[str], json_: bool) -> None:
    from assay.results.wording import plain

    if json_:
        click.echo(json.dumps(lines, indent=2))
        return
    for line in lines:
        # Agents write what they like, control sequences too.
        click.echo(plain(line))


def _print(status: "RunStatus", json_: bool) -> None:
    from assay.cli.status_summary import totals
    from assay.results.wording import duration, plain

    if json_:
        click.echo(json.dumps(_told(status), indent=2))
        return
    rows = [
        [
            trial.trial,
            _stage(trial),
            str(trial.steps),
            f"{duration(trial.elapsed)} of {duration(trial.time)}",
            f"{trial.tokens:,}",
            "unknown" if trial.cost is None else f"{trial.cost:.2f}",
            plain(trial.why or "", limit=60),
        ]
        for trial in status.trials
    ]
    table(["trial", "state", "steps", "time", "tokens", "dollars", ""], rows)
    click.echo("")
    for line in totals(status):
        click.echo(line)


def _stage(trial: "TrialStatus") -> str:
    return f"{trial.stage}: {trial.cause}" if trial.stage == "failed" else trial.stage


def _told(status: "RunStatus") -> dict[str, Any]:
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
    """Show the status until the run is over: a table that changes on a terminal, elsewhere a line for each change."""
    from assay.cli.live import watching
    from assay.cli.status_summary import totals
    from assay.runs.status import TrialStatus, read_status, utc_now

    over: dict[str, TrialStatus] = {}
    before = None
    on_terminal = sys.stderr.isatty() and not json_
    with watching(run).stage(run.name):
        while True:
            status = read_status(run, utc_now(), over)
            if not on_terminal and status.stages != before:
                click.echo(json.dumps(_told(status)) if json_ else totals(status)[0])
                before = status.stages
            if status.over:
                break
            time.sleep(_EVERY)
    if on_terminal:
        _print(status, json_)
