"""The trial folder: what was asked, who writes to it now, what came of it."""

import hashlib
import json
import re
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from assay.core.disk import atomic_write, hash_file, write_json
from assay.core.errors import RecordError
from assay.grading.result import Grade
from assay.lab.interface import Network, SandboxName
from assay.records.events import EventLog
from assay.records.lease import Claim, Lease, hold
from assay.tasks import Budget
from assay.tasks.model import Resources

Status = Literal["waiting", "running", "submitted", "done", "failed", "inapplicable", "stopped"]
Cause = Literal["agent", "infrastructure", "user"]
Answers = Literal["withheld", "within reach"]
"""Whether anything derived from the hidden answers could have been seen while the agent worked.

Scores are never shown during a trial, so only a lab without walls puts the answers within reach.
"""
Kept = TypeVar("Kept", bound=BaseModel)


class TrialFile(BaseModel):
    """`trial.json`: everything that was asked for, and what it was asked with."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal["trial/1"] = "trial/1"
    id: str
    task: str
    edition: str
    variant: str
    agent: str
    label: str
    settings: dict[str, Any] = {}
    models: dict[str, str] = {}
    model_settings: dict[str, Any] = {}
    seed: int
    budget: Budget
    resources: Resources
    resources_given: dict[str, int] = {}
    environment: str
    sandbox: SandboxName
    describe: Literal["plain", "obfuscated", "own"] = "plain"
    description: str | None = None
    network: Network = "none"
    tools: str | None = None
    tasks_folder: str | None = None
    parent: str | None = None
    parent_step: int | None = None
    origins: dict[str, str] = {}
    versions: dict[str, str] = {}
    hashes: dict[str, str] = {}


def trial_id(file: dict[str, Any]) -> str:
    """The identity of a trial: a readable start, and a hash of all that makes it this trial and no other."""
    parts = ("task", "edition", "variant", "agent", "settings", "models", "seed", "budget", "environment", "sandbox")
    asked = json.dumps({part: file[part] for part in parts}, sort_keys=True)
    if file.get("model_settings"):
        asked += json.dumps(file["model_settings"], sort_keys=True)
    if file.get("resources_given"):
        asked += json.dumps({"resources": file["resources_given"]}, sort_keys=True)
    if file.get("describe", "plain") != "plain":
        asked += json.dumps({"describe": file["describe"], "description": file["description"]}, sort_keys=True)
    if file.get("tools"):
        asked += json.dumps({"tools": file["tools"]}, sort_keys=True)
    readable = re.sub(r"[^a-z0-9]+", "-", f"{file['task'].partition('/')[2]}-{file['agent']}".lower()).strip("-")
    return f"{readable}-{file['seed']}-{hashlib.sha256(asked.encode()).hexdigest()[:10]}"


class State(BaseModel):
    """`state.json`: how far a trial has come."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal["state/1"] = "state/1"
    status: Status = "waiting"
    cause: Cause | None = None
    why: str | None = None
    epoch: int = 0
    elapsed: float = 0.0
    waited: float = 0.0
    steps: int = 0
    tokens: int = 0
    cost: float | None = 0.0
    validations: int = 0
    started_at: str | None = None
    ended_at: str | None = None
    sealing: dict[str, Any] | None = None
    answers: Answers | None = None

    @property
    def final(self) -> bool:
        """Whether nothing is left to do: done, not applicable, or failed by the agent's own fault."""
        return self.status in ("done", "inapplicable") or (self.status == "failed" and self.cause == "agent")


class SubmissionEntry(BaseModel):
    """`submission/manifest.json`: the file that was handed in, or why there is none."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal["submission/1"] = "submission/1"
    at: str
    file: str | None = None
    size: int | None = None
    sha256: str | None = None
    why: str | None = None


@dataclass(frozen=True)
class TrialFolder:
    """The record of one trial; with a lease in `held`, it is written to only while that lease is good."""

    path: Path
    held: Lease | None = field(default=None, compare=False)

    @property
    def file(self) -> TrialFile:
        """What was asked for."""
        return read_record(self.path / "trial.json", TrialFile)

    @property
    def state(self) -> State:
        """How far it has come; an empty file, which a power cut leaves, is none: what matters of it is in the log."""
        path = self.path / "state.json"
        return read_record(path, State) if path.exists() and path.stat().st_size else State()

    @property
    def grade(self) -> Grade | None:
        """Its grade, once there is one."""
        path = self.path / "grade.json"
        return read_record(path, Grade) if path.exists() else None

    @property
    def events(self) -> Path:
        """Its log."""
        return self.path / "events.jsonl"

    @property
    def snapshots(self) -> Path:
        """Contents of its workspace over time."""
        return self.path / "snapshots"

    @property
    def submission_entry(self) -> SubmissionEntry | None:
        """What was handed in; None while the agent's work is not over."""
        path = self.path / "submission" / "manifest.json"
        return read_record(path, SubmissionEntry) if path.exists() else None

    @property
    def submission(self) -> Path | None:
        """The file that was handed in, if there is one."""
        entry = self.submission_entry
        return self.path / "submission" / entry.file if entry and entry.file else None

    def create(self, file: TrialFile) -> None:
        """Write down what is asked for; a folder that exists already is left as it is."""
        self.path.mkdir(parents=True, exist_ok=True)
        if not (self.path / "trial.json").exists():
            write_json(self.path / "trial.json", file.model_dump(mode="json"))

    def write_state(self, state: State) -> None:
        """Replace the state."""
        write_json(self.path / "state.json", state.model_dump(mode="json"), check=self._check, durable=False)

    def write_grade(self, grade: Grade) -> None:
        """Keep the grade."""
        write_json(self.path / "grade.json", grade.model_dump(mode="json"), check=self._check)

    def keep_submission(self, name: str, content: bytes | None, why: str | None = None) -> SubmissionEntry:
        """Keep what was handed in, or why nothing was; it counts once it is in the log and `hand_in` has said so."""
        if content is None:
            return SubmissionEntry(at=now(), why=why)
        folder = self.path / "submission"
        folder.mkdir(exist_ok=True)
        atomic_write(folder / name, content, check=self._check)
        return SubmissionEntry(at=now(), file=name, size=len(content), sha256=hash_file(folder / name))

    def hand_in(self, entry: SubmissionEntry) -> None:
        """End the agent's work: with this on disk it is never repeated."""
        (self.path / "submission").mkdir(exist_ok=True)
        write_json(self.path / "submission" / "manifest.json", entry.model_dump(mode="json"), check=self._check)

    def lease(self, expired: Claim | None = None) -> AbstractContextManager[Lease | None]:
        """Take the trial for this process; None when another has it, or may have it: see `assay.records.lease`."""
        return hold(self.path, expired)

    def log(self) -> EventLog:
        """Open the log to write on; only its holder may."""
        if self.held is None:
            raise RecordError(f"{self.path} is not held by this process")
        return EventLog(self.events, self.held.epoch, check=self.held.check, apart=self.held.contested)

    def _check(self) -> None:
        if self.held:
            self.held.check()

    @property
    def attempts(self) -> int:
        """How often the trial was taken up."""
        path = self.path / "lease"
        return int(path.read_text() or 0) if path.exists() else 0


def now() -> str:
    """The date and time, with its zone, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def read_record(path: Path, model: type[Kept]) -> Kept:
    """Read one of our JSON files back; damage or an unknown format is a `RecordError`."""
    try:
        return model.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        raise RecordError(f"{path} is missing") from None
    except ValidationError as error:
        fault = error.errors()[0]
        raise RecordError(f"{path}: {'.'.join(map(str, fault['loc']))}: {fault['msg']}") from None
