"""`assay ls` and `assay logs`."""

import json
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.cli.arguments import TrialPath
from assay.cli.output import as_json, echo, show_table
from assay.core.errors import RecordError, UsageError
from assay.core.table import Column, Table, Value
from assay.core.text import one_line, plural
from assay.records import RunFolder, TrialFolder, list_newest_runs, read_trials

if TYPE_CHECKING:
    from assay.records import Event

_COLUMNS = (
    Column("run"),
    Column("created", kind="date", drop=1),
    *(Column(name, kind="integer") for name in ("trials", "done", "failed")),
    Column("agents", drop=2),
)
_UNFINISHED = ("waiting", "running", "submitted")
_POLL_SECONDS = 0.5


@click.command("ls")
@click.argument("folder", default=".", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="[DIR]")
@as_json
def ls_command(folder: Path, json_: bool) -> None:
    """List the runs in a folder and in its runs/, the newest first.

    \b
    Examples:
      assay ls
      assay ls /data/experiments
    """
    table = Table.from_records("runs", _COLUMNS, map(_summarize, list_newest_runs(folder)))
    if json_ or table.rows:
        show_table(table, json_, "runs/1")
    else:
        echo(f"No runs in {folder} or {folder / 'runs'}.")


def _summarize(path: Path) -> dict[str, Value]:
    try:
        run = RunFolder(path)
        trials = read_trials(run)
        states = [trial.state.status for trial in trials]
        agents = ", ".join(dict.fromkeys(trial.file.label for trial in trials))
        created = datetime.fromisoformat(run.file.created_at)
    except RecordError as error:
        return {"run": str(path), "agents": one_line(str(error))}
    return {
        "run": str(path),
        "created": created,
        "trials": len(states),
        "done": states.count("done"),
        "failed": states.count("failed"),
        "agents": one_line(agents),
    }


@click.command("logs")
@click.argument("trial", type=TrialPath(), metavar="TRIAL")
@click.option("--step", type=click.IntRange(0), default=None, help="Only this step.")
@click.option("--follow", "-f", is_flag=True, help="Show what happens until the trial has ended.")
@click.option("--lines", default=12, show_default=True, type=click.IntRange(1), help="Lines of each text to show.")
@as_json
def logs_command(trial: Path, step: int | None, follow: bool, lines: int, json_: bool) -> None:
    """Show what an agent did in a trial, in order: prompts' replies, commands, outputs, its crash, its grade.

    TRIAL is the folder of a trial, or the start or end of its id.

    \b
    Examples:
      assay logs digits-automl-1
      assay logs runs/first/digits-aide-1 --step 3 --lines 100
      assay logs 0a1b2c3d4e --follow
    """
    if follow and json_:
        raise UsageError("--follow and --json exclude each other")
    folder = TrialFolder(trial)
    log = _LogReader(folder, step)
    if json_:
        echo(json.dumps([event.model_dump(mode="json") for event in log.read_new()], indent=2))
        return
    while True:
        state = folder.state  # read first: nothing is added to the log of a trial that has ended
        for event in log.read_new():
            _print_event(event, log.steps, lines)
        if not follow or state.status not in _UNFINISHED:
            break
        sys.stdout.flush()
        time.sleep(_POLL_SECONDS)
    echo(f"{state.status}: {one_line(state.reason)}" if state.reason else state.status)


class _LogReader:
    """Reads the events of a log that were added since the last time; `steps` has the step of each call."""

    def __init__(self, folder: TrialFolder, step: int | None) -> None:
        self._folder, self._step = folder, step
        self._size, self._count = -1, 0
        self.steps: dict[int, int] = {}

    def read_new(self) -> "list[Event]":
        """Return new events, of one step only if that was asked for."""
        from assay.records import read_events
        from assay.records.events import CallStarted
        from assay.records.log import log_size

        path = self._folder.events
        size = log_size(path) or 0
        if size == self._size:
            return []
        self._size = size
        events = read_events(path)
        new, self._count = events[self._count :], len(events)
        self.steps |= {event.number: event.step for event in new if isinstance(event, CallStarted)}
        return [event for event in new if self._step is None or _step_of(event, self.steps) == self._step]


def _step_of(event: "Event", steps: dict[int, int]) -> int | None:
    from assay.records.events import CallFinished

    return steps.get(event.call if isinstance(event, CallFinished) else event.number)


def _print_event(event: "Event", steps: dict[int, int], lines: int) -> None:
    from assay.records.events import AgentCrashed, describe_event

    number = _step_of(event, steps)
    where = "" if number is None else f"  step {number}"
    text = event.traceback if isinstance(event, AgentCrashed) else describe_event(event)
    text_lines = text.splitlines()
    echo(f"{event.time:%H:%M:%S}  {event.kind}{where}")
    for line in text_lines[:lines]:
        echo(f"    {line}")
    if len(text_lines) > lines:
        echo(f"    … {plural(len(text_lines) - lines, 'more line')}; --lines {len(text_lines)} shows all")
