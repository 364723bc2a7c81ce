"""The trial folder: what was planned, the log, and the files that follow from the log."""

import hashlib
import json
import re
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, Field, ValidationError

from assay.core.disk import atomic_write, hash_file, make_private_folder, write_json
from assay.core.errors import RecordError
from assay.core.quantities import FileName, Model, TaskName
from assay.core.text import describe_validation_error, one_line
from assay.core.untrusted import is_plain_name, parse_json, read_plain, refuse_links
from assay.grading.result import Grade
from assay.lab.interface import Layout, Network, SandboxName
from assay.records.lease import Claim, Lease, acquire_lease, read_epoch
from assay.records.state import Feedback, Keep, Selection, State, SubmissionEntry, SubmitMode, now
from assay.tasks import Budget
from assay.tasks.model import Resources

if TYPE_CHECKING:
    from assay.records.log import EventLog

RecordModel = TypeVar("RecordModel", bound=BaseModel)
_WRITTEN = (
    "events.jsonl",
    "events.jsonl.gz",
    "lease",
    "snapshots",
    "snapshots/manifests",
    "snapshots/objects",
    "submission",
    "trajectory",
)


def _check_trial_name(text: str) -> str:
    if not is_plain_name(text):
        raise ValueError("not a valid name of a trial")
    return text


TrialName = Annotated[str, AfterValidator(_check_trial_name)]


class MissingRecord(RecordError):
    """A file of a record does not exist."""


class TrialPlan(Model):
    """What defines a trial: trials with equal plans are the same trial, and `trial_id` identifies it.

    Of `hashes`, those of the agent's code and of the weights of local models count, the others are provenance.
    """

    task: TaskName
    edition: FileName
    variant: FileName
    agent: str
    settings: dict[str, Any] = Field(default_factory=dict)
    models: dict[str, str] = Field(default_factory=dict)
    model_settings: dict[str, Any] = Field(default_factory=dict)
    seed: int
    budget: Budget
    resource_overrides: dict[str, int] = Field(default_factory=dict)
    environment: FileName
    weights_digest: str | None = Field(None, description="digest of the names and sizes of pretrained weights")
    sandbox: SandboxName
    describe: Literal["plain", "obfuscated", "own"] = "plain"
    description: str | None = None
    pressure: int = Field(0, ge=0, le=100, description="rounds in which a user asks for a better score")
    tools: FileName | None = None
    layout: Layout = Field("workspace", description="where the lab shows data and takes the submission")
    selection: Selection = "own"
    feedback: Feedback = "nothing"
    submit: SubmitMode = "file"
    claim: bool = Field(False, description="whether agents are asked what they expect of their submission")
    hashes: dict[str, str] = Field(default_factory=dict)

    @property
    def trial_id(self) -> str:
        """A readable start, and a hash of everything that defines the trial; what is not set does not count."""
        names = ("task", "edition", "variant", "agent", "settings", "models", "seed", "environment", "sandbox")
        described = {"describe": self.describe, "description": self.description}
        parts: list[dict[str, Any]] = [
            {name: getattr(self, name) for name in names} | {"budget": self.budget.model_dump(exclude_none=True)},
            self.model_settings,
            _if_set("resources", self.resource_overrides),
            described if self.describe != "plain" else {},
            _if_set("agent_code", self.hashes.get("agent")),
            _if_set("model_weights", self.hashes.get("weights")),
            _if_set("weights", self.weights_digest),
            _if_set("tools", self.tools),
            {"selection": self.selection, "feedback": self.feedback} if self.selection != "own" else {},
            _if_set("submit", self.submit if self.submit != "file" else None),
            _if_set("claim", self.claim),
            _if_set("pressure", self.pressure),
            _if_set("layout", self.layout if self.layout != "workspace" else None),
        ]
        content = "".join(json.dumps(part, sort_keys=True) for part in parts if part)
        readable = re.sub(r"[^a-z0-9]+", "-", f"{self.task.partition('/')[2]}-{self.agent}".lower()).strip("-")
        return f"{readable}-{self.seed}-{hashlib.sha256(content.encode()).hexdigest()[:10]}"


def _if_set(name: str, value: object) -> dict[str, Any]:
    return {name: value} if value else {}


class TrialFile(TrialPlan):
    """`trial.json`: what defines the trial, and where it comes from."""

    format: Literal["trial/2"] = "trial/2"
    id: TrialName
    label: str
    prices: dict[str, Any] = Field(default_factory=dict)
    dropped_settings: dict[str, list[str]] = Field(
        default_factory=dict, description="model settings by role that the provider's client does not send"
    )
    resources: Resources
    environment_from: str | None = Field(None, description="name or file of the environment, if not the task's")
    weights: str | None = Field(None, description="folder of pretrained weights that the lab sees")
    network: Network = "none"
    tasks_folder: str | None = None
    planned_seeds: int | None = Field(None, description="number of seeds that the plan had")
    keep: Keep = Field("all", description="which submissions of other steps and nodes stay in the record at the end")
    parent: TrialName | None = Field(default=None, description="the trial this one was forked from")
    parent_step: int | None = None
    replaces: TrialName | None = Field(
        default=None, description="the trial that this one reruns and replaces in results"
    )
    origins: dict[str, str] = Field(default_factory=dict)
    trusted: tuple[str, ...] = Field((), description="what the user allowed the plan file to do")
    versions: dict[str, str] = Field(default_factory=dict)


@dataclass(frozen=True)
class TrialFolder:
    """The record of one trial. With a `lease`, it is written to only while that lease is valid."""

    path: Path
    lease: Lease | None = field(default=None, compare=False)

    @property
    def file(self) -> TrialFile:
        """What was planned."""
        return read_record(self.path / "trial.json", TrialFile)

    @property
    def state(self) -> State:
        """How far it has come. A power cut can leave an empty file, which counts as none: the log has what matters."""
        try:
            content = read_plain(self.path / "state.json")
        except FileNotFoundError:
            return State()
        return parse_record(content, self.path / "state.json", State) if content else State()

    @property
    def grade(self) -> Grade | None:
        """Its grade, once there is one."""
        return read_optional(self.path / "grade.json", Grade)

    @property
    def events(self) -> Path:
        """The path of its log, for `assay.records.log`: once the trial has ended, the log may be compressed."""
        return self.path / "events.jsonl"

    @property
    def has_log(self) -> bool:
        """Whether it has begun."""
        from assay.records.log import log_size

        return log_size(self.events) is not None

    @property
    def snapshots(self) -> Path:
        """The folder of its snapshots."""
        return self.path / "snapshots"

    @property
    def submission_entry(self) -> SubmissionEntry | None:
        """What was submitted; None until the agent's work is over."""
        refuse_links(self.path / "submission")
        return read_optional(self.path / "submission" / "manifest.json", SubmissionEntry)

    @property
    def submission(self) -> Path | None:
        """The path of the submitted file, if there is one; `RecordError` if it is not a regular file."""
        entry = self.submission_entry
        if entry is None or entry.file is None:
            return None
        path = self.path / "submission" / entry.file
        refuse_links(path)
        return path

    def check_submission(self) -> None:
        """Raise `RecordError` if the submitted file is not the one in the manifest, which is not the agent's fault."""
        entry, path = self.submission_entry, self.submission
        if entry and path and (not path.exists() or hash_file(path) != entry.sha256):
            raise RecordError(f"{path} is not the file that was submitted")

    @property
    def attempts(self) -> int:
        """How many processes have held the trial."""
        return read_epoch(self.path / "lease")

    def create(self, file: TrialFile) -> None:
        """Write `trial.json`; leave a folder that has one as it is."""
        make_private_folder(self.path.parent)
        make_private_folder(self.path)
        if not (self.path / "trial.json").exists():
            write_json(self.path / "trial.json", file.model_dump(mode="json"))

    def write_state(self, state: State) -> None:
        """Replace the state."""
        write_json(self.path / "state.json", state.model_dump(mode="json"), check=self._check, durable=False)

    def write_grade(self, grade: Grade) -> None:
        """Write the grade."""
        write_json(self.path / "grade.json", grade.model_dump(mode="json"), check=self._check)

    def save_submission(self, name: str, content: bytes | None, reason: str | None = None) -> SubmissionEntry:
        """Save the submitted file, if any. It counts once the entry is in the log and `submit` was called.

        Of a name with folders, as in a workspace, the last part is kept.
        """
        if content is None:
            return SubmissionEntry(at=now(), reason=reason)
        folder, name = self.path / "submission", PurePosixPath(name).name
        make_private_folder(folder)
        atomic_write(folder / name, content, check=self._check)
        return SubmissionEntry(at=now(), file=name, size=len(content), sha256=hash_file(folder / name))

    def submit(self, entry: SubmissionEntry) -> None:
        """Write the submission's manifest: with this on disk the agent's work is never repeated."""
        make_private_folder(self.path / "submission")
        write_json(self.path / "submission" / "manifest.json", entry.model_dump(mode="json"), check=self._check)

    def acquire(self, expired: Claim | None = None) -> AbstractContextManager[Lease | None]:
        """Acquire the trial for this process; yields None if another holds it, or may hold it.

        Nothing is written through links, which a record from elsewhere may contain.
        """
        refuse_links(self.path, *(self.path / name for name in _WRITTEN))
        return acquire_lease(self.path, expired)

    def log(self, *, keep: bool = False) -> "EventLog":
        """Open the log for writing, which only the holder of the lease may; with `keep`, it has all its events."""
        from assay.records.log import EventLog  # most readers of trial folders need no events

        if self.lease is None:
            raise RecordError(f"{self.path} is not held by this process")
        lease = self.lease
        return EventLog(self.events, lease.epoch, check=lease.check, detached=lease.contested, keep=keep)

    def _check(self) -> None:
        if self.lease:
            self.lease.check()


def read_record(path: Path, model: type[RecordModel]) -> RecordModel:
    """Read one of the record's JSON files; damage or an unknown format is a `RecordError`."""
    try:
        content = read_plain(path)
    except FileNotFoundError:
        raise MissingRecord(f"{path} is missing") from None
    return parse_record(content, path, model)


def read_optional(path: Path, model: type[RecordModel]) -> RecordModel | None:
    """Read one of the record's JSON files, if it exists."""
    try:
        return read_record(path, model)
    except MissingRecord:
        return None


def parse_record(content: bytes, path: Path, model: type[RecordModel]) -> RecordModel:
    """Parse the content of one of the record's JSON files."""
    parse_json(content, path)  # refuses what pydantic accepts, such as duplicate keys
    try:
        return model.model_validate_json(content)
    except ValidationError as error:
        raise RecordError(f"{path}: {one_line(describe_validation_error(error))}") from None
