"""Preparing several tasks at a time, each in a process of its own, as many as fit into the memory."""

import os
import threading
import time
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from multiprocessing.context import ForkServerContext
from multiprocessing.managers import SyncManager
from queue import Queue
from typing import NamedTuple

from assay.core.errors import AssayError
from assay.core.home import Home
from assay.core.own_path import start_fork_server
from assay.core.progress import Advance, Progress
from assay.core.text import plural
from assay.data.store import PrepareOptions, prepare
from assay.tasks import Task

DEFAULT_MEMORY = 10**9
"""Bytes that the preparation of a task takes at most if `memory` of its `task.toml` does not say how many."""
_REPORT_SECONDS = 0.2


@dataclass(frozen=True)
class Preparation:
    """What `prepare` is called with."""

    task: Task
    edition: str | None
    variant: str
    options: PrepareOptions

    @property
    def memory(self) -> int:
        """About how much memory it takes, in bytes."""
        if self.variant.startswith("synthetic"):
            return DEFAULT_MEMORY // 2
        return self.task.preparation.memory or DEFAULT_MEMORY

    def run(self, home: Home, progress: Progress) -> None:
        """Prepare the task in this process."""
        prepare(home, self.task, self.edition, self.variant, progress=progress, options=self.options)


class _Report(NamedTuple):
    """A stage of a process: its beginning if it has a name, an amount that is done, or its end if it has neither."""

    stage: tuple[int, int]
    name: str | None = None
    total: float | None = None
    amount: float | None = None


def prepare_in_turn(
    home: Home, preparations: Sequence[Preparation], *, progress: Progress
) -> Iterator[tuple[Preparation, Exception | None]]:
    """Prepare tasks one after the other in this process, and yield each with the error that it ended with."""
    for number, preparation in enumerate(preparations, 1):
        title = f"{number} of {len(preparations)}: {preparation.task.id}"
        try:
            with progress.stage(title) if len(preparations) > 1 else nullcontext():
                preparation.run(home, progress)
        except (AssayError, ValueError, OSError) as error:
            yield preparation, error
        else:
            yield preparation, None


def prepare_all(
    home: Home, preparations: Sequence[Preparation], *, jobs: int, memory: int, progress: Progress
) -> Iterator[tuple[Preparation, Exception | None]]:
    """Prepare tasks side by side, and yield each when it is done, with the error that it ended with.

    A task starts when one of `jobs` processes is free and the memory that it takes fits into `memory` together with
    those that are running; one that takes more than that runs alone. Smaller ones may start before it.
    """
    context = start_fork_server("assay.data.store")
    waiting, running = list(preparations), dict[Future[None], Preparation]()
    with (
        progress.stage(f"Preparing {plural(len(waiting), 'task')}", len(waiting)) as advance,
        context.Manager() as manager,
        _show(manager, progress) as reports,
        ThreadPoolExecutor(jobs) as pool,
    ):
        try:
            while waiting or running:
                while len(running) < jobs and (chosen := _choose(waiting, running.values(), memory)):
                    waiting.remove(chosen)
                    running[pool.submit(_prepare_apart, context, home, chosen, reports)] = chosen
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    error = future.exception()
                    if error is not None and not isinstance(error, Exception):
                        raise error
                    advance(1)
                    yield running.pop(future), error
        finally:
            pool.shutdown(cancel_futures=True)


def _choose(waiting: Sequence[Preparation], running: Collection[Preparation], memory: int) -> Preparation | None:
    """Return the first one that fits into the memory that is left, or the first of all if nothing runs."""
    free = memory - sum(preparation.memory for preparation in running)
    return next((item for item in waiting if item.memory <= free or not running), None)


def _prepare_apart(
    context: ForkServerContext, home: Home, preparation: Preparation, reports: "Queue[_Report | None]"
) -> None:
    """Prepare a task in a process of its own, so that one that is killed takes no other with it."""
    with ProcessPoolExecutor(1, mp_context=context) as process:
        try:
            process.submit(_prepare, home, preparation, reports).result()
        except BrokenProcessPool:
            raise AssayError(
                "its process was killed, perhaps because there was not enough memory; try fewer --jobs"
            ) from None


def _prepare(home: Home, preparation: Preparation, reports: "Queue[_Report | None]") -> None:
    preparation.run(home, _Reporting(reports))


class _Reporting:
    """Progress that another process displays."""

    def __init__(self, reports: "Queue[_Report | None]") -> None:
        self._reports, self._count = reports, 0

    @contextmanager
    def stage(self, what: str, total: float | None = None) -> Iterator[Advance]:
        """Report a stage, and how much of it is done a few times a second."""
        self._count += 1
        number = (os.getpid(), self._count)
        unreported, reported = 0.0, time.monotonic()

        def advance(amount: float) -> None:
            nonlocal unreported, reported
            unreported += amount
            if time.monotonic() - reported >= _REPORT_SECONDS:
                self._reports.put(_Report(number, amount=unreported))
                unreported, reported = 0.0, time.monotonic()

        self._reports.put(_Report(number, what, total))
        try:
            yield advance
        finally:
            self._reports.put(_Report(number))


@contextmanager
def _show(manager: SyncManager, progress: Progress) -> "Iterator[Queue[_Report | None]]":
    """Display what processes report to the queue."""
    reports: Queue[_Report | None] = manager.Queue()

    def work() -> None:
        stages: dict[tuple[int, int], tuple[ExitStack, Advance]] = {}
        while (report := reports.get()) is not None:
            if report.name is not None:
                stack = ExitStack()
                stages[report.stage] = stack, stack.enter_context(progress.stage(report.name, report.total))
            elif report.amount is not None:
                stages[report.stage][1](report.amount)
            else:
                stages.pop(report.stage)[0].close()
        for stack, _ in stages.values():
            stack.close()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield reports
    finally:
        reports.put(None)
        thread.join()
