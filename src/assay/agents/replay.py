"""The replay agent: repeats a recorded trial without a model, to check that the result is the same or to show it."""

import hashlib
from itertools import groupby
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationInfo, field_validator

from assay.agents.agent import Agent
from assay.agents.observation import Observation
from assay.agents.serialize import Contents
from assay.agents.workbench import Workbench
from assay.core.disk import hash_file
from assay.core.errors import UnsafePath
from assay.records import TrialFolder, read_events
from assay.records.tape import Deed, past_of
from assay.tasks import Task

THINKING = ("ask", "act", "note", "read", "list", "person")
"""Deeds that leave nothing in the lab and need not be done again."""


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
        found = hash_file(TrialFolder(info.data["trial"]).events)
        if digest not in ("", found):
            raise ValueError(f"the log of {info.data['trial']} has changed since the replay was planned")
        return found

    def label(self, name: str) -> str:
        """Return its name in reports, which contains the trial's."""
        return f"{name} of {self.trial.name}"

    def inapplicable(self, task: Task) -> str | None:
        """Refuse tasks other than the trial's."""
        recorded = TrialFolder(self.trial).file.task
        return None if task.id == recorded else f"{self.trial.name} is a trial of {recorded}"

    async def work(self, bench: Workbench) -> None:
        """Step by step as recorded, with the recorded seed, and compare what comes of it."""
        folder = TrialFolder(self.trial)
        bench.seed = folder.file.seed
        again = Again(bench, Contents(folder.snapshots))
        deeds = past_of(read_events(folder.events)).deeds
        for step, done in groupby(deeds, key=lambda deed: int(deed.about.get("step", 0))):
            await again.take_step(step, list(done))
        submission_entry, (content, _) = folder.submission_entry, await bench.submission()
        before = submission_entry.sha256 if submission_entry else None
        now = None if content is None else hashlib.sha256(content).hexdigest()
        if before != now:
            again.differences.append(f"the submission is {_shown(now)}, and was {_shown(before)}")
        await bench.note("replayed", trial=folder.file.id, same=not again.differences, differences=again.differences)


class Again:
    """Deeds done again, and what came out differently."""

    def __init__(self, bench: Workbench, contents: Contents) -> None:
        self.bench = bench
        self.contents = contents
        self.differences: list[str] = []

    async def take_step(self, step: int, deeds: list[Deed]) -> None:
        """Do all deeds of a step again, as one step; what was done before the first one is none."""
        named = next((str(deed.request["name"]) for deed in deeds if deed.what == "act"), "run")

        async def do() -> Observation:
            before = len(self.differences)
            for deed in deeds:
                if deed.what not in THINKING and (difference := await self._do(deed)):
                    self.differences.append(f"step {step}, {deed.what}: {difference}")
            return Observation("; ".join(self.differences[before:]) or "The same came of it.")

        if step == 0:
            await do()
            await self.bench.snapshot()
        else:
            await self.bench.act(named, {"step": step}, do)

    async def _do(self, deed: Deed) -> str | None:
        """Do one deed again; says what is different, if anything is."""
        bench, request, result = self.bench, deed.request, deed.result
        seconds = deed.about.get("seconds")
        if deed.what == "run":
            stdin = self.contents.give(deed.about["stdin"]) if "stdin" in deed.about else b""
            ended = await bench.execute(request["command"], seconds=seconds, stdin=stdin, changes=deed.changes)
            return _differs(f"{ended.ended} {ended.code}", f"{result['ended']} {result['code']}")
        if deed.what == "session":
            said = await bench.say_to_session(request["command"], seconds=seconds)
            return _differs(said.ended or "goes on", result["ended"] or "goes on")
        if deed.what == "write":
            return await self._write(deed)
        if deed.what == "validate":
            fault = await bench.validate(request.get("path"))
            return _differs(fault or "valid", result["fault"] or "valid")
        return "it was not only the agent's doing, and cannot be done again"

    async def _write(self, deed: Deed) -> str | None:
        content = self._content(deed)
        if content is None:
            return f"what was written to {deed.request['path']} is not in the record"
        try:
            await self.bench.write(str(deed.request["path"]), content)
        except UnsafePath as refused:
            return _differs(str(refused), deed.result.get("refused", "written"))
        return _differs("written", deed.result.get("refused", "written"))

    def _content(self, deed: Deed) -> bytes | None:
        told: dict[str, Any] = deed.about.get("content") or {"sha256": deed.request["sha256"]}
        try:
            return self.contents.give(told)
        except FileNotFoundError:
            return None


def _differs(now: str, before: str) -> str | None:
    return None if now == before else f"{now}, and was {before}"


def _shown(digest: str | None) -> str:
    return digest[:12] if digest else "missing"
