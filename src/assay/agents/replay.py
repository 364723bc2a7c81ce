"""The replay agent: repeats a recorded trial without a model, to check that the result is the same or to show it."""

import hashlib
from collections.abc import Mapping
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, assert_never

from pydantic import Field, ValidationInfo, field_validator

from assay.agents.agent import Agent
from assay.agents.observation import Observation
from assay.agents.workbench import Workbench
from assay.core.errors import LabError, RecordError, UnsafePath
from assay.lab.sandboxes.base import KILLED
from assay.records import TrialFolder, read_events
from assay.records.content_store import ContentStore
from assay.records.events import (
    ActionRequest,
    CommandRequest,
    CommandResult,
    ExternalProcessRequest,
    HumanPeriodRequest,
    HumanRequest,
    ListRequest,
    ModelRequest,
    NodeRequest,
    NoteRequest,
    OfferRequest,
    PythonRequest,
    PythonResult,
    ReadRequest,
    ValidationRequest,
    ValidationResult,
    WriteRequest,
    WriteResult,
)
from assay.records.log import hash_log
from assay.records.tape import Call, past_of
from assay.tasks import Task


class Replay(Agent):
    """Repeats what a recorded trial did in its lab, step by step, and records where the result differs."""

    summary = "repeats a recorded trial without a model and records any difference"

    trial: Path = Field(description="folder of the trial to repeat, RUN/trials/ID")
    events: str = Field("", validate_default=True, description="hash of the trial's log; default: its current hash")

    @field_validator("trial")
    @classmethod
    def _check_trial(cls, path: Path) -> Path:
        folder = TrialFolder(path.resolve())
        if not (folder.path / "trial.json").is_file():
            raise ValueError(f"{path} is not a trial folder: it contains no trial.json")
        if folder.submission_entry is None:
            raise ValueError(f"the trial in {path} is not finished; run first: assay resume {path}")
        return folder.path

    @field_validator("events")
    @classmethod
    def _check_log(cls, digest: str, info: ValidationInfo) -> str:
        if "trial" not in info.data:
            return digest
        actual = hash_log(TrialFolder(info.data["trial"]).events) or ""
        if digest not in ("", actual):
            raise ValueError(f"the log of {info.data['trial']} has changed since the replay was planned")
        return actual

    @classmethod
    def settings_name_files(cls, settings: Mapping[str, Any]) -> bool:
        """Whether they name a trial to repeat, which they always do."""
        return True

    def label(self, name: str) -> str:
        """Return its name in reports, which contains the trial's."""
        return f"{name} of {self.trial.name}"

    def inapplicable(self, task: Task) -> str | None:
        """Refuse tasks other than the trial's."""
        recorded = TrialFolder(self.trial).file.task
        return None if task.id == recorded else f"{self.trial.name} is a trial of {recorded}"

    async def work(self, bench: Workbench) -> None:
        """Repeat the recorded steps with the recorded seed, and compare the results."""
        folder = TrialFolder(self.trial)
        bench.seed = folder.file.seed
        repetition = Repetition(bench, ContentStore(folder.snapshots))
        calls = past_of(read_events(folder.events)).calls
        for step, group in groupby(calls, key=lambda call: call.step):
            await repetition.take_step(step, list(group))
        entry = folder.submission_entry
        content, _ = await bench.read_submission()
        before = entry.sha256 if entry else None
        now = None if content is None else hashlib.sha256(content).hexdigest()
        if before != now:
            repetition.differences.append(f"the submission is {_show_digest(now)}, and was {_show_digest(before)}")
        differences = repetition.differences
        await bench.note("replayed", trial=folder.file.id, same=not differences, differences=differences)


class Repetition:
    """Calls that are repeated, and which results differed."""

    def __init__(self, bench: Workbench, contents: ContentStore) -> None:
        self.bench = bench
        self.contents = contents
        self.differences: list[str] = []

    async def take_step(self, step: int, calls: list[Call]) -> None:
        """Repeat all calls of a step as one step; what was done before the first step is not one."""
        names = (call.request.name for call in calls if isinstance(call.request, ActionRequest))
        name = next(names, "run")

        async def perform() -> Observation:
            before = len(self.differences)
            for call in calls:
                if difference := await self._repeat(call):
                    self.differences.append(f"step {step}, {call.request.type}: {difference}")
            return Observation("; ".join(self.differences[before:]) or "The result is the same.")

        if step == 0:
            await perform()
            await self.bench.snapshot()
        else:
            await self.bench.act(name, {"step": step}, perform)

    async def _repeat(self, call: Call) -> str | None:
        """Repeat one call if it can have changed the lab; return the difference, if there is any."""
        bench = self.bench
        match call.request:
            case CommandRequest() as request:
                before = call.expect(CommandResult)
                stdin = self.contents.get(request.stdin) if request.stdin else b""
                if request.fresh:
                    result = await bench.run_fresh(request.command, seconds=request.seconds, stdin=stdin)
                else:
                    check = partial(_check_not_killed, before)
                    result = await bench.execute(
                        request.command, seconds=request.seconds, stdin=stdin, changes=call.changes, check=check
                    )
                return _compare(f"{result.ended} {result.code}", f"{before.ended} {before.code}")
            case PythonRequest(code=code, seconds=seconds):
                executed = await bench.run_python(code, seconds=seconds)
                return _compare(executed.ended or "running", call.expect(PythonResult).ended or "running")
            case WriteRequest() as request:
                return await self._write(request, call.expect(WriteResult))
            case ValidationRequest(path=path):
                reason = await bench.validate(path)
                return _compare(reason or "valid", call.expect(ValidationResult).problem or "valid")
            case ModelRequest() | ActionRequest() | NoteRequest() | NodeRequest() | OfferRequest():
                return None  # it leaves nothing in the lab
            case ReadRequest() | ListRequest() | HumanRequest():
                return None
            case HumanPeriodRequest() | ExternalProcessRequest():
                return "it cannot be repeated, because it depended on more than the agent"
            case _:
                assert_never(call.request)

    async def _write(self, request: WriteRequest, before: WriteResult) -> str | None:
        try:
            content = self.contents.get(request.content)
        except RecordError:
            return f"what was written to {request.path} is not in the record"
        try:
            await self.bench.write(request.path, content)
        except UnsafePath as refusal:
            return _compare(str(refusal), before.refused or "written")
        return _compare("written", before.refused or "written")


def _check_not_killed(before: CommandResult, now: CommandResult) -> None:
    """Raise `LabError` if a command that once exited by itself was now killed from outside: no limit was the cause."""
    if before.ended == "exit" and now.ended == "signal" and now.code == KILLED:
        raise LabError(f"a command was killed by SIGKILL; in the recorded trial it exited with code {before.code}")


def _compare(now: str, before: str) -> str | None:
    return None if now == before else f"{now}, and was {before}"


def _show_digest(digest: str | None) -> str:
    return digest[:12] if digest else "missing"
