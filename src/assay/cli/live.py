"""The state of a run as text, and as a table that is updated while it runs."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from assay.core.errors import AssayError
from assay.core.layout import TableColumn, fit_table, shorten_middle
from assay.core.progress import Advance, Progress, ProgressBars
from assay.core.quantities import format_duration
from assay.core.text import describe_counts, one_line, plural
from assay.records import RunFolder
from assay.runs.status import RunStatus, TrialStatus, read_status, utc_now

if TYPE_CHECKING:
    from rich.console import RenderableType

_MAX_ROWS = 20
_LAST = 5
_STYLES = {"done": "green", "failed": "red", "inapplicable": "dim"}
_ORDER = ("waiting", "running", "grading", "submitted", "interrupted", "stopped", "done", "inapplicable")


def show_run(run: RunFolder) -> Progress:
    """Return what shows the progress of a run: a table on a terminal, a line per stage elsewhere."""
    return LiveTable(run) if sys.stderr is not None and sys.stderr.isatty() else ProgressBars()


def summarize_status(status: RunStatus) -> list[str]:
    """Return how many trials are in which state, the time, and what was used."""
    counts = [f"{status.stages[stage]} {stage}" for stage in _ORDER if status.stages.get(stage)]
    if status.failed:
        counts.append(f"{sum(status.failed.values())} failed ({describe_counts(status.failed)})")
    cost = f"${status.cost:.2f}"
    if status.unpriced:
        cost += f" plus the cost of {plural(status.unpriced, 'trial')} with a model of unknown price"
    left = f", at most {format_duration(status.time_left)} left" if status.time_left else ""
    return [
        f"{plural(len(status.trials), 'trial')}: {', '.join(counts)}",
        f"{format_duration(status.elapsed)} of work{left}; {status.tokens:,} tokens, {cost}",
    ]


class LiveTable:
    """Shows the running trials, and a summary of all, while a stage is open."""

    def __init__(self, run: RunFolder) -> None:
        self._run = run
        self._finished: dict[str, TrialStatus] = {}
        self._elapsed: dict[str, float] = {}

    @contextmanager
    def stage(self, what: str, total: float | None = None) -> Iterator[Advance]:
        """Show the table until the stage ends."""
        from rich.console import Console
        from rich.live import Live

        console = Console(stderr=True)
        with Live(
            get_renderable=lambda: self._render(what, console.width),
            console=console,
            refresh_per_second=1,
            transient=True,
        ):
            yield lambda amount: None

    def _render(self, title: str, width: int) -> "RenderableType":
        from rich.text import Text

        try:
            status = self.forward_only(read_status(self._run, utc_now(), self._finished))
            return render_status(status, title, width)
        except (OSError, AssayError) as error:
            # A disk may be gone for a while; the run itself handles that, and reports it at its end.
            return Text(one_line(f"{title}; cannot read the records: {error}"))

    def forward_only(self, status: RunStatus) -> RunStatus:
        """Return the status with times that never run backwards, although a record is behind the clock."""
        for trial in status.trials:
            self._elapsed[trial.trial] = max(trial.elapsed, self._elapsed.get(trial.trial, 0.0))
        trials = tuple(replace(trial, elapsed=self._elapsed[trial.trial]) for trial in status.trials)
        return replace(status, trials=trials)


_COLUMNS = (
    TableColumn("task", shrinks=True, min_width=14),
    TableColumn("agent", shrinks=True, min_width=12),
    TableColumn("seed", right=True),
    TableColumn("phase"),
    TableColumn("steps", right=True, leave_out=1),
    TableColumn("time", right=True),
    TableColumn("now", shrinks=True, prose=True, min_width=12, leave_out=2),
)


def render_status(status: RunStatus, title: str, width: int) -> "RenderableType":
    """Return a bar, the trials that are working or being graded, what was finished last, and a summary of all."""
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    running = [trial for trial in status.trials if trial.stage in ("running", "grading")]
    table = fit_table(_COLUMNS, [_row(trial) for trial in running[:_MAX_ROWS]], width)
    rows = [Text("  ".join(table.header), style="bold"), *(Text("  ".join(row)) for row in table.rows)]
    over = [trial for trial in status.trials if trial.stage in ("done", "failed", "inapplicable")]
    lines = summarize_status(status)
    if len(running) > _MAX_ROWS:
        lines.insert(0, f"… and {len(running) - _MAX_ROWS} more")
    bar = Table.grid(padding=(0, 1))  # a bar alone would not end its line
    bar.add_row(
        ProgressBar(total=max(1, len(status.trials)), completed=len(over), width=30),
        f"{len(over)} of {plural(len(status.trials), 'trial')}",
    )
    finished = [Text(one_line(_finished(trial), width), style=_STYLES.get(trial.stage, "")) for trial in over[-_LAST:]]
    return Group(Text(one_line(title)), bar, *(rows if running else ()), *finished, *(Text(line) for line in lines))


def _row(trial: TrialStatus) -> tuple[str, ...]:
    return (
        one_line(trial.task),
        one_line(trial.agent),
        str(trial.seed),
        "grading" if trial.stage == "grading" else "working",
        str(trial.steps),
        f"{format_duration(trial.elapsed)} of {format_duration(trial.time)}",
        one_line(trial.doing, 40),
    )


def _finished(trial: TrialStatus) -> str:
    result = trial.stage if trial.score is None else f"score {trial.score:.5g}"
    why = f": {trial.why}" if trial.stage == "failed" and trial.why else ""
    task, agent = shorten_middle(trial.task, 26), shorten_middle(trial.agent, 24)
    return f"{task}, {agent}, seed {trial.seed}: {result}{why}"
