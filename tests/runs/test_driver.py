"""The driver executes every trial, whatever the clock shows between two of its readings."""

from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import Path

from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.data import prepare
from assay.records import RunFolder, State, TrialFile, TrialFolder
from assay.runs.driver import Files, execute_run
from assay.runs.job import TAKEN, TICK, JobKind
from assay.runs.plan import Plan
from assay.tasks import Registry

TINY = Path(__file__).parent.parent / "tiny"


class BusyOnce:
    """An executor on which every trial is held by another process the first time and finishes the second time."""

    description = "a test"

    def __init__(self) -> None:
        self.started: list[str] = []
        self._ended: list[tuple[TrialFolder, int]] = []

    def begin(self, files: Files, *, at_terminal: bool) -> None:
        pass

    def has_room(self, file: TrialFile, work: JobKind) -> bool:
        return True

    def start(self, folder: TrialFolder, file: TrialFile, work: JobKind) -> None:
        again = folder.path.name in self.started
        self.started.append(folder.path.name)
        if again:
            folder.write_state(State(status="done"))
        self._ended.append((folder, 0 if again else TAKEN))

    def wait(self, seconds: float) -> None:
        pass

    def ended(self) -> Iterator[tuple[TrialFolder, int]]:
        while self._ended:
            yield self._ended.pop()

    def withdraw(self) -> Iterable[TrialFolder]:
        return ()

    def stop(self) -> None:
        pass


def test_a_retry_that_falls_due_between_two_clock_readings_is_not_forgotten(home: Home, tmp_path: Path):
    coin = Registry([TINY]).task("tiny/coin")
    prepare(home, coin, progress=NoProgress())
    run = RunFolder(tmp_path / "run")
    run.add(Plan(tasks=(coin,), agents=(("starter", {}),), tasks_folder=TINY).trials(home))
    # Every reading is 0.6 of a retry pause after the one before: the trial is not due at one, and due at the next.
    readings = (0.6 * TICK * number for number in count())
    executor = BusyOnce()
    execute_run(run, executor, progress=NoProgress(), clock=lambda: next(readings))
    (trial,) = run.trials()
    assert executor.started == [trial.path.name] * 2
    assert trial.state.status == "done"
