"""The state of a run as text, and as a table that is updated while it runs."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from assay.core.errors import AssayError
from assay.core.progress import Advance, Progress, ProgressBars
from assay.core.quantities import format_duration
from assay.core.table import shorten_middle
from assay.core.text import one_line, plural
from assay.records import RunFolder
from assay.results.wording import describe_failures
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
        counts.append(f"{sum(status.failed.values())} failed ({describe_failures(status.failed)})")
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

        with Live(
            get_renderable=lambda: self._render(what),
            console=Console(stderr=True),
            refresh_per_second=1,
            transient=True,
        ):
            yield lambda amount: None

    def _render(self, title: str) -> "RenderableType":
        from rich.text import Text

        try:
            return render_status(self._forward_only(read_status(self._run, utc_now(), self._finished)), title)
        except (OSError, AssayError) as error:
            # A disk may be gone for a while; the run itself handles that, and reports it at its end.
            return Text(one_line(f"{title}; cannot read the records: {error}"))

    def _forward_only(self, status: RunStatus) -> RunStatus:
        """Return the status with times that never run backwards, although a record is behind the clock."""
        for trial in status.trials:
            self._elapsed[trial.trial] = max(trial.elapsed, self._elapsed.get(trial.trial, 0.0))
        trials = tuple(replace(trial, elapsed=self._elapsed[trial.trial]) for trial in status.trials)
        return replace(status, trials=trials)


def render_status(status: RunStatus, title: str) -> "RenderableType":
    """Return a bar, the trials that are working or being graded, what was finished last, and a summary of all."""
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for name in ("task", "agent", "seed", "phase", "steps", "time", "now"):
        table.add_column(name, justify="right" if name in ("seed", "steps", "time") else "left", no_wrap=True)
    running = [trial for trial in status.trials if trial.stage in ("running", "grading")]
    for trial in running[:_MAX_ROWS]:
        table.add_row(
            Text(shorten_middle(one_line(trial.task), 28)),
            Text(shorten_middle(one_line(trial.agent), 24)),
            str(trial.seed),
            "grading" if trial.stage == "grading" else "working",
            str(trial.steps),
            f"{format_duration(trial.elapsed)} of {format_duration(trial.time)}",
            Text(one_line(trial.doing, 40), style="dim"),
        )
    over = [trial for trial in status.trials if trial.stage in ("done", "failed", "inapplicable")]
    lines = summarize_status(status)
    if len(running) > _MAX_ROWS:
        lines.insert(0, f"… and {len(running) - _MAX_ROWS} more")
    bar = ProgressBar(total=max(1, len(status.trials)), completed=len(over), width=30)
    finished = [Text(one_line(_finished(trial)), style=_STYLES.get(trial.stage, "")) for trial in over[-_LAST:]]
    return Group(Text(one_line(title)), bar, table, *finished, *(Text(line) for line in lines))


def _finished(trial: TrialStatus) -> str:
    result = trial.stage if trial.score is None else f"score {trial.score:.5g}"
    why = f": {trial.why}" if trial.stage == "failed" and trial.why else ""
    return f"{trial.task}, {trial.agent}, seed {trial.seed}: {result}{why}"
