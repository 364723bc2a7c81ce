"""Progress of long operations: bars on a terminal, lines elsewhere, or nothing."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Protocol

from assay.core.layout import shorten_middle
from assay.core.units import format_duration, format_size

_BAR_WIDTH = 20
_LINE_SECONDS = 30.0

Advance = Callable[[float], None]


class ByteCount(int):
    """A total that is displayed as bytes."""


class Progress(Protocol):
    """Displays the stages of a long operation."""

    def stage(self, what: str, total: float | None = None) -> AbstractContextManager[Advance]:
        """Open a stage; call the yielded function with the amount done since its last call."""
        ...


class NoProgress:
    """Displays nothing."""

    @contextmanager
    def stage(self, what: str, total: float | None = None) -> Iterator[Advance]:
        yield lambda amount: None


class ProgressBars:
    """Displays a bar per open stage if standard error is a terminal, with the time left.

    Elsewhere there is a line per outermost stage, and now and then one that says how much of a long stage is done.

    Args:
        line_seconds: The time between two lines of a stage.
    """

    def __init__(self, *, line_seconds: float = _LINE_SECONDS) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Task, TaskProgressColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as RichProgress
        from rich.text import Text

        class TimeColumn(TimeElapsedColumn):
            """The time left if it is known, else the time so far."""

            def render(self, task: Task) -> Text:
                left = task.fields["left"]
                return Text(left, style="progress.remaining") if left else super().render(task)

        self._terminal, self._line_seconds = sys.stderr.isatty(), line_seconds
        self._bars = RichProgress(
            TextColumn("{task.description}"),
            BarColumn(_BAR_WIDTH),
            TaskProgressColumn(),  # empty where the total is unknown
            TextColumn("{task.fields[amount]}"),
            TimeColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._open = 0

    @contextmanager
    def stage(self, what: str, total: float | None = None) -> Iterator[Advance]:
        if not self._terminal:
            if self._open == 0:
                sys.stderr.write(f"{what} …\n")
                sys.stderr.flush()
            self._open += 1
            try:
                yield self._print_lines(what, total)
            finally:
                self._open -= 1
            return
        if self._open == 0:
            self._bars.start()
        self._open += 1
        reserved = "  100% 59 min left " + "1.23GB of 1.23GB" * isinstance(total, ByteCount)
        room = self._bars.console.width - _BAR_WIDTH - len(reserved)
        bar = self._bars.add_task(shorten_middle(what, max(20, room)), total=total, amount="", left="")
        stage = _Stage(total)

        def advance(amount: float) -> None:
            stage.done += amount
            self._bars.update(bar, advance=amount, amount=stage.amount, left=stage.left)

        try:
            yield advance
        finally:
            self._bars.remove_task(bar)
            self._open -= 1
            if self._open == 0:
                self._bars.stop()

    def _print_lines(self, what: str, total: float | None) -> Advance:
        stage, printed = _Stage(total), time.monotonic()

        def advance(amount: float) -> None:
            nonlocal printed
            stage.done += amount
            now = time.monotonic()
            if total and now - printed >= self._line_seconds:
                printed = now
                facts = [f"{stage.done / total:.0%}", *filter(None, (stage.amount, stage.left))]
                sys.stderr.write(f"{what}: {', '.join(facts)}\n")
                sys.stderr.flush()

        return advance


class _Stage:
    """How much of a stage is done."""

    def __init__(self, total: float | None) -> None:
        self.total, self.done, self._started = total, 0.0, time.monotonic()

    @property
    def amount(self) -> str:
        """The bytes that are done, and all of them; empty if it is not bytes that are counted."""
        if not isinstance(self.total, ByteCount):
            return ""
        return f"{format_size(int(self.done))} of {format_size(self.total)}"

    @property
    def left(self) -> str:
        """The time left, if it goes on as so far; empty in the first seconds."""
        elapsed = time.monotonic() - self._started
        if not self.total or not self.done or elapsed < 3 or self.done >= self.total:
            return ""
        return f"{format_duration(round(elapsed * (self.total - self.done) / self.done))} left"


_current: ContextVar[Progress] = ContextVar("progress")


@contextmanager
def use_progress(progress: Progress) -> Iterator[None]:
    """Display the stages opened by `stage` in this block with `progress`, so that callees need no parameter for it."""
    token = _current.set(progress)
    try:
        yield
    finally:
        _current.reset(token)


def stage(what: str, total: float | None = None) -> AbstractContextManager[Advance]:
    """Open a stage of the current operation; see `use_progress`."""
    return _current.get(NoProgress()).stage(what, total)
