"""Runs as Python objects: `assay.load_run(path)` reads a run folder, live or finished, or an export.

run = assay.load_run("runs/first")
frame = run.to_frame()                       # one row per trial, as a pandas DataFrame
trial = run.trials[0]                        # or by id, of which the start is enough: run.trials["digits-automl-1"]
for event in trial.events: ...               # typed events, see docs/record-format.md
prompt = trial.messages(trial.model_calls[0])  # the whole prompt of a model call
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, overload

from assay.core.errors import UsageError
from assay.core.table import Table
from assay.core.text import plural
from assay.grading.result import Grade
from assay.models.messages import Message, Reply
from assay.records import Event, RunFolder, State, TrialFile, TrialFolder, read_events
from assay.records.bundle import unpack_bundle
from assay.records.events import CallFinished, EventBase, ModelResult
from assay.records.prompts import Prompts
from assay.records.tape import Call, finished_calls
from assay.results.frame import Frame, read_frame
from assay.results.inference import ErrorKind
from assay.results.report import make_report

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Trial:
    """The record of one trial. Everything is read on first use."""

    folder: TrialFolder

    @property
    def id(self) -> str:
        """The trial's id, which is also the name of its folder."""
        return self.folder.path.name

    @cached_property
    def file(self) -> TrialFile:
        """What was planned: task, agent, settings, seed, budget, versions and hashes."""
        return self.folder.file

    @cached_property
    def state(self) -> State:
        """How far it has come, what it used, and why it failed if it did."""
        return self.folder.state

    @cached_property
    def grade(self) -> Grade | None:
        """Its grade, if it has one."""
        return self.folder.grade

    @property
    def started_at(self) -> datetime | None:
        """When it started."""
        return datetime.fromisoformat(self.state.started_at) if self.state.started_at else None

    @property
    def ended_at(self) -> datetime | None:
        """When it ended."""
        return datetime.fromisoformat(self.state.ended_at) if self.state.ended_at else None

    def __repr__(self) -> str:
        score = f", score {self.grade.score}" if self.grade else ""
        return f"<Trial {self.id}: {self.state.status}{score}>"

    @property
    def submission(self) -> Path | None:
        """The path of the submitted file; None if there is none, or if it was not exported."""
        path = self.folder.submission
        return path if path and path.is_file() else None

    @cached_property
    def events(self) -> list[Event]:
        """All events of its log, typed; a `RecordError` if the log is damaged."""
        return read_events(self.folder.events)

    @cached_property
    def calls(self) -> list[Call]:
        """All calls that finished, with request and result, also those that were repeated after an interruption."""
        return [call for _, call in finished_calls(self.events)]

    @property
    def model_calls(self) -> tuple[int, ...]:
        """The event numbers of all model calls, in order."""
        return self._prompts.calls

    def messages(self, call: int | EventBase | Call) -> tuple[Message, ...]:
        """Return the whole prompt of a model call, given the number of its `call_started` event, or an event of it."""
        return self._prompts.messages(self._number(call))

    def reply(self, call: int | EventBase | Call) -> Reply | None:
        """Return the reply to a model call; None if there was none."""
        number = self._number(call)
        for event in self.events:
            if isinstance(event, CallFinished) and event.call == number and isinstance(event.result, ModelResult):
                return event.result.reply
        return None

    @cached_property
    def _prompts(self) -> Prompts:
        return Prompts(self.events)

    def _number(self, call: int | EventBase | Call) -> int:
        number = call if isinstance(call, int) else call.call if isinstance(call, CallFinished) else call.number
        if number not in self._prompts.calls:
            raise UsageError(f"event {number} of {self.id} does not start a model call")
        return number


class Trials(Sequence[Trial]):
    """The trials of a run in the order of its plan: `trials[0]`, `trials["digits-starter-1-0a1b2c3d4e"]`."""

    def __init__(self, trials: Iterable[Trial]) -> None:
        self._trials = tuple(trials)

    @overload
    def __getitem__(self, key: int | str) -> Trial: ...
    @overload
    def __getitem__(self, key: slice) -> "Trials": ...
    def __getitem__(self, key: int | str | slice) -> "Trial | Trials":
        if isinstance(key, slice):
            return Trials(self._trials[key])
        if isinstance(key, int):
            return self._trials[key]
        matches = [trial for trial in self._trials if trial.id.startswith(key)]
        exact = [trial for trial in matches if trial.id == key]
        if len(exact or matches) != 1:
            raise KeyError(f"{plural(len(matches), 'trial')} of {len(self)} start with {key!r}")
        return (exact or matches)[0]

    def __len__(self) -> int:
        return len(self._trials)

    def __repr__(self) -> str:
        first = ", ".join(trial.id for trial in self._trials[:3])
        return f"<{plural(len(self), 'trial')}: {first}{', …' if len(self) > 3 else ''}>"


@dataclass(frozen=True)
class Run:
    """The record of a run."""

    folder: RunFolder
    _unpacked: object = field(default=None, repr=False, compare=False)
    """Removes the files of an unpacked export when nobody needs them any more."""

    @property
    def name(self) -> str:
        """The name of the run."""
        return self.folder.name

    @property
    def path(self) -> Path:
        """The run folder."""
        return self.folder.path

    @cached_property
    def trials(self) -> Trials:
        """Its trials, by position or id."""
        return Trials(Trial(folder) for folder in self.folder.trials())

    def frame(self) -> Frame:
        """Return one row per trial, finished or not: the schema `trials/1`."""
        return read_frame(self.folder)

    def to_frame(self) -> "pd.DataFrame":
        """Return one row per trial, finished or not, as a pandas DataFrame with the trial's id as index."""
        return self.frame().to_pandas()

    def progress(self) -> "pd.DataFrame":
        """Return one row per trial and step, the schema `progress/1`, as a pandas DataFrame.

        Submissions are graded after each step, once per content; see docs/progress.md. An exported run does not have
        them: `UsageError`.
        """
        if self._unpacked is not None:
            raise UsageError("An exported run has no submissions of its steps; load the run folder instead")
        import pandas as pd

        from assay.core.home import Home
        from assay.results.progress import read_progress, to_polars

        frame, home = self.frame(), Home.default()
        trials = [trial for trial in frame if trial.record and not trial.pending]
        rows = [
            row
            for trial in trials
            if trial.record
            for row in read_progress(trial.record.folder, frame.known_tasks[trial.task], home, trial)
        ]
        table = to_polars(rows)  # its own conversion needs pyarrow
        return pd.DataFrame(table.to_dicts(), columns=table.columns)

    def report(self, error: ErrorKind = "tasks") -> list[Table]:
        """Return the tables of `assay report`.

        Args:
            error: The kind of standard error: clustered by task, over seeds, or as if attempts were independent.
        """
        return make_report(self.frame(), error)

    def __repr__(self) -> str:
        return f"<Run {self.path}: {repr(self.frame())[1:]}"

    def _repr_html_(self) -> str:
        return "".join(table.to_html() for table in self.report())


def load_run(path: str | Path) -> Run:
    """Read a run folder, or a zip file that `assay export` wrote.

    Args:
        path: The run folder, which has a `run.json`, or the zip file.

    Raises:
        UsageError: It is neither.
        RecordError: It is damaged.
    """
    path = Path(path)
    if path.is_file():
        folder = TemporaryDirectory(prefix="assay-run-")
        return Run(unpack_bundle(path, Path(folder.name) / path.stem), folder)
    run = Run(RunFolder(path))
    run.folder.file  # noqa: B018  # raises if it is not a run folder
    return run
