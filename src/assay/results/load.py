"""Runs as Python objects: `assay.load_run(path)` reads a run folder, live or finished.

run = assay.load_run("runs/first")
frame = run.to_frame()                       # one row per trial, as a pandas DataFrame
trial = run.trials[0]
for event in trial.events: ...               # typed events, see docs/record-format.md
prompt = trial.messages(trial.model_calls[0])  # the whole prompt of a model call
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from assay.core.errors import UsageError
from assay.grading.result import Grade
from assay.models.messages import Message, Reply
from assay.records import Event, RunFolder, State, TrialFile, TrialFolder, read_events
from assay.records.events import CallFinished, EventBase, ModelResult
from assay.records.prompts import Prompts
from assay.records.tape import Call, finished_calls
from assay.results.frame import Frame, read_frame

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class TrialRecord:
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


@dataclass(frozen=True)
class RunRecord:
    """The record of a run."""

    folder: RunFolder

    @property
    def name(self) -> str:
        """The name of the run."""
        return self.folder.name

    @cached_property
    def trials(self) -> tuple[TrialRecord, ...]:
        """Its trials, in the order of the plan."""
        return tuple(TrialRecord(folder) for folder in self.folder.trials())

    def frame(self) -> Frame:
        """Return one row per trial, finished or not: the schema `trials/1`."""
        return read_frame(self.folder)

    def to_frame(self) -> "pd.DataFrame":
        """Return one row per trial, finished or not, as a pandas DataFrame with the trial's id as index."""
        return self.frame().to_pandas()


def load_run(path: str | Path) -> RunRecord:
    """Read a run folder, or a folder that `assay export` wrote and that was unpacked.

    Args:
        path: The run folder, which has a `run.json`.

    Raises:
        UsageError: The folder is not a run folder.
    """
    run = RunRecord(RunFolder(Path(path)))
    run.folder.file  # noqa: B018  # raises if it is not a run folder
    return run
