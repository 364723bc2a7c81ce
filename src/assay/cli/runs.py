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
    from assay.records.events import CallStarted

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
    printer = _Printer(log, lines)
    if json_:
        echo(json.dumps([event.model_dump(mode="json") for event in log.read_new()], indent=2))
        return
    while True:
        state = folder.state  # read first: nothing is added to the log of a trial that has ended
        for event in log.read_new():
            printer.print(event)
        if not follow or state.status not in _UNFINISHED:
            break
        sys.stdout.flush()
        time.sleep(_POLL_SECONDS)
    echo(f"{state.status}: {one_line(state.reason)}" if state.reason else state.status)


class _LogReader:
    """Reads the events of a log that were added since the last time; `calls` has the start of each call."""

    def __init__(self, folder: TrialFolder, step: int | None) -> None:
        self._folder, self._step = folder, step
        self._size, self._count = -1, 0
        self.calls: dict[int, CallStarted] = {}

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
        self.calls |= {event.number: event for event in new if isinstance(event, CallStarted)}
        return [event for event in new if self._step is None or self.step_of(event) == self._step]

    def step_of(self, event: "Event") -> int | None:
        """Return the step of a call; other events have none."""
        from assay.records.events import CallFinished

        start = self.calls.get(event.call if isinstance(event, CallFinished) else event.number)
        return start.step if start else None


class _Printer:
    """Prints events as they come: a line for each, and what a call brought below it."""

    def __init__(self, log: _LogReader, lines: int) -> None:
        self._log, self._lines = log, lines
        self._last: int | None = None
        """The call whose line was printed last."""

    def print(self, event: "Event") -> None:
        """Print one event; snapshots are left out."""
        from assay.records.events import (
            CallFinished,
            CallStarted,
            NodeRequest,
            PythonRequest,
            SnapshotTaken,
            describe_result,
        )
        from assay.web.trace import describe_request, find_problem, make_entry

        match event:
            case SnapshotTaken():
                return
            case CallStarted(request=request):
                text = ""
                if isinstance(request, PythonRequest) and "\n" in request.code:
                    text = request.code
                elif isinstance(request, NodeRequest):
                    node = request.node
                    text = f"{node.status} {node.reason or ('' if node.metric is None else f'{node.metric:.6g}')}"
                self._print_line(event, describe_request(request)[1], text)
                self._last = event.number
            case CallFinished(call=call, result=result):
                start = self._log.calls[call]
                if self._last != call:
                    self._print_line(event, f"{describe_request(start.request)[1]}, begun {start.time:%H:%M:%S}")
                problem, text = find_problem(result, start.changes), describe_result(result)
                if problem:
                    text = f"✕ {text}" if text.startswith(problem) else f"✕ {problem}\n{text}"
                self._print_text(text)
                self._last = None
            case _:
                entry = make_entry(event)
                title = f"✕ {entry.title}" if entry.problem else entry.title
                self._print_line(event, title, "\n".join(block.text for block in entry.blocks))
                self._last = None

    def _print_line(self, event: "Event", title: str, text: str = "") -> None:
        step = self._log.step_of(event)
        where = f"{'step ' + str(step) if step is not None else '':8}"
        echo(f"{event.time:%H:%M:%S}  {where}  {one_line(title)}")
        self._print_text(text)

    def _print_text(self, text: str) -> None:
        kept = [line for line in text.splitlines() if line.strip()]
        for line in kept[: self._lines]:
            echo(f"{' ' * 20}{line}")
        if len(kept) > self._lines:
            rest = plural(len(kept) - self._lines, "more line")
            echo(f"{' ' * 20}… {rest}; --lines {len(kept)} shows all")
