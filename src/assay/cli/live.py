"""A table of what a run is doing, kept up to date while it goes on."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from assay.cli.status_summary import totals
from assay.core.errors import AssayError
from assay.core.progress import Advance, Progress, ProgressBars
from assay.records import RunFolder
from assay.results.wording import duration, plain
from assay.runs.status import RunStatus, TrialStatus, read_status, utc_now

_MOST_ROWS = 20


def watching(run: RunFolder) -> Progress:
    """What shows a run's progress: a table on a terminal, a line per stage elsewhere."""
    return LiveTable(run) if sys.stderr.isatty() else ProgressBars()


class LiveTable:
    """Shows, for as long as a stage is open, which trials are at work and how the others ended."""

    def __init__(self, run: RunFolder) -> None:
        self._run = run
        self._over: dict[str, TrialStatus] = {}

    @contextmanager
    def stage(self, what: str, total: float | None = None) -> Iterator[Advance]:
        with Live(
            get_renderable=lambda: self._drawn(what),
            console=Console(stderr=True),
            refresh_per_second=1,
            transient=True,
        ):
            yield lambda amount: None

    def _drawn(self, what: str) -> RenderableType:
        try:
            return drawn(read_status(self._run, utc_now(), self._over), what)
        except (OSError, AssayError) as error:
            # A disk may be gone for a while; the run itself deals with that, and says so at its end.
            return Text(plain(f"{what}; the records cannot be read now: {error}"))


def drawn(status: RunStatus, title: str) -> RenderableType:
    """The trials that are at work, and a line about all of them."""
    table = Table(title=Text(plain(title)), title_justify="left", box=None, pad_edge=False)
    for head in ("task", "agent", "seed", "steps", "time", "of", "tokens", "dollars"):
        table.add_column(head, justify="left" if head in ("task", "agent") else "right")
    running = [trial for trial in status.trials if trial.stage == "running"]
    for trial in running[:_MOST_ROWS]:
        table.add_row(
            Text(plain(trial.task)),
            Text(plain(trial.agent)),
            str(trial.seed),
            str(trial.steps),
            duration(trial.elapsed),
            duration(trial.time),
            f"{trial.tokens:,}",
            "unknown" if trial.cost is None else f"{trial.cost:.2f}",
        )
    more = [Text(f"… and {len(running) - _MOST_ROWS} more")] if len(running) > _MOST_ROWS else []
    return Group(table, *more, *(Text(line) for line in totals(status)))
