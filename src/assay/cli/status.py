"""`assay status`."""

import json
import socket
import sys
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.cli.arguments import count_matches, match_trials
from assay.cli.output import as_json, echo, open_run, print_tables, run_argument
from assay.core.errors import UsageError
from assay.core.table import Column, Formatted, Table
from assay.core.text import one_line
from assay.records import RunFolder, TrialFolder

if TYPE_CHECKING:
    from assay.runs.status import RunStatus, TrialStatus

_INTERVAL = 1.0
_LISTED = 40
"""Runs of up to this many trials are listed trial by trial."""
_FAILED = 10
_MARKS = {
    "done": "●",
    "failed": "✕",
    "running": "▸",
    "grading": "▹",
    "submitted": "▹",
    "interrupted": "!",
    "stopped": "■",
    "waiting": "◌",
    "inapplicable": "–",
}
_COLUMNS = (
    Column("trial", min_width=24),
    Column("agent", min_width=12, drop=7),
    Column("seed", kind="integer", drop=3),
    Column("state", min_width=21),
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
@click.option("--all", "all_", is_flag=True, help="List every trial of a large run instead of counting them.")
@click.option("--lines", default=20, show_default=True, type=click.IntRange(1), help="With --trial: number of lines.")
def status_command(folder: Path, json_: bool, follow: bool, trial: str | None, all_: bool, lines: int) -> None:
    """Show the progress of a run: trials by state, failures by cause, time, tokens, cost.

    Of more than 40 trials, it counts those of each task and agent by state, and lists those that run or failed; --all
    lists every trial. Only reads, and can be used from anywhere while the run is in progress.

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
        _print_status(read_named_status(run, utc_now()), json_, all_)


def _find_trial(run: RunFolder, part: str) -> TrialFolder:
    """Return the trial whose id starts or ends with `part`: where space is short, only its ends are shown."""
    matches = match_trials(run.path, part)
    if not matches:
        raise UsageError(f"No trial of {run.path} is called {part}; to list them, run: assay status {run.path}")
    if len(matches) > 1:
        raise UsageError(f"{count_matches(matches)} of {run.path} match {part}; give more of the id")
    return TrialFolder(matches[0])


def _print_lines(lines: list[str], json_: bool) -> None:

    if json_:
        echo(json.dumps(lines, indent=2))
        return
    for line in lines:
        echo(one_line(line))


def _print_status(status: "RunStatus", json_: bool, all_: bool = False) -> None:
    from assay.cli.live import summarize_status
    from assay.core.quantities import format_cost, format_duration

    if json_:
        echo(json.dumps(_to_json(status), indent=2))
        return
    if len(status.trials) > _LISTED and not all_:
        print_tables([_count_stages(status)])
        echo()
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
        for trial in (status.trials if all_ or len(status.trials) <= _LISTED else _find_notable(status))
    ]
    columns = _COLUMNS if elsewhere else _COLUMNS[:-1]
    if rows:
        print_tables([Table("trials", columns, tuple(row[: len(columns)] for row in rows))])
        echo()
    for line in summarize_status(status):
        echo(line)


def _find_notable(status: "RunStatus") -> "list[TrialStatus]":
    """Return the trials of a large run that a user asks for first: those that run, then the last that failed."""
    running = [trial for trial in status.trials if trial.stage in ("running", "grading")]
    return [*running, *[trial for trial in status.trials if trial.stage == "failed"][-_FAILED:]]


def _count_stages(status: "RunStatus") -> Table:
    """Return tasks × agents with the number of trials by state, such as `3● 1✕`."""
    cells: dict[str, dict[str, Counter[str]]] = {}
    for trial in status.trials:
        cells.setdefault(trial.task, {}).setdefault(trial.agent, Counter())[trial.stage] += 1
    agents = list(dict.fromkeys(trial.agent for trial in status.trials))
    suites = {task.partition("/")[0] for task in cells}
    columns = (Column("task", min_width=24), *(Column(agent, one_line(agent), min_width=7) for agent in agents))
    rows = [
        (
            one_line(task.partition("/")[2] if len(suites) == 1 else task),
            *(_count_marks(by_agent.get(agent, Counter())) for agent in agents),
        )
        for task, by_agent in cells.items()
    ]
    stages = {trial.stage for trial in status.trials}
    legend = ", ".join(f"{mark} {stage}" for stage, mark in _MARKS.items() if stage in stages)
    title = f"{status.name}{f', {suites.pop()}' if len(suites) == 1 else ''}: {len(status.trials):,} trials"
    return Table("stages", columns, tuple(rows), f"{title} ({legend})")


def _count_marks(stages: Counter[str]) -> str:
    return " ".join(f"{stages[stage]}{mark}" for stage, mark in _MARKS.items() if stages[stage])


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
