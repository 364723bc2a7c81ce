"""The state of a run as text, and as a table that is updated while it runs."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from assay.core.errors import AssayError
from assay.core.progress import Advance, Progress, ProgressBars
from assay.core.quantities import format_duration
from assay.core.text import one_line, plural
from assay.records import RunFolder
from assay.results.wording import describe_failures
from assay.runs.status import RunStatus, TrialStatus, read_status, utc_now

if TYPE_CHECKING:
    from rich.console import RenderableType

_MAX_ROWS = 20
_ORDER = ("waiting", "running", "submitted", "interrupted", "stopped", "done", "inapplicable")


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
            return render_status(read_status(self._run, utc_now(), self._finished), title)
        except (OSError, AssayError) as error:
            # A disk may be gone for a while; the run itself handles that, and reports it at its end.
            return Text(one_line(f"{title}; cannot read the records: {error}"))


def render_status(status: RunStatus, title: str) -> "RenderableType":
    """Return a table of the running trials, and a summary of all."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(one_line(title)), title_justify="left", box=None, pad_edge=False)
    for name in ("task", "agent", "seed", "steps", "time", "limit", "tokens", "cost"):
        table.add_column(name, justify="left" if name in ("task", "agent") else "right")
    running = [trial for trial in status.trials if trial.stage == "running"]
    for trial in running[:_MAX_ROWS]:
        table.add_row(
            Text(one_line(trial.task)),
            Text(one_line(trial.agent)),
            str(trial.seed),
            str(trial.steps),
            format_duration(trial.elapsed),
            format_duration(trial.time),
            f"{trial.tokens:,}",
            "unknown" if trial.cost is None else f"${trial.cost:.2f}",
        )
    lines = summarize_status(status)
    if len(running) > _MAX_ROWS:
        lines.insert(0, f"… and {len(running) - _MAX_ROWS} more")
    return Group(table, *(Text(line) for line in lines))
