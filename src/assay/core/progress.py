"""Progress of long operations: bars on a terminal, one line per stage elsewhere, or nothing."""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Protocol

from assay.core.layout import shorten_middle

_BAR_WIDTH = 20

Advance = Callable[[float], None]


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
    """Displays a bar per open stage if standard error is a terminal, else one line per outermost stage."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as RichProgress

        self._terminal = sys.stderr.isatty()
        self._bars = RichProgress(
            TextColumn("{task.description}"),
            BarColumn(_BAR_WIDTH),
            TaskProgressColumn(),  # empty where the total is unknown
            TimeElapsedColumn(),
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
                yield lambda amount: None
            finally:
                self._open -= 1
            return
        if self._open == 0:
            self._bars.start()
        self._open += 1
        room = self._bars.console.width - _BAR_WIDTH - len("  100% 0:00:00 ")
        bar = self._bars.add_task(shorten_middle(what, max(20, room)), total=total)
        try:
            yield lambda amount: self._bars.advance(bar, amount)
        finally:
            self._bars.remove_task(bar)
            self._open -= 1
            if self._open == 0:
                self._bars.stop()


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
