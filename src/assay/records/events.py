"""The vocabulary of a trial's log: every event, and every kind of call an agent can make.

An event is one line of `events.jsonl`. `kind` distinguishes events, `type` the requests and results of calls; both
are discriminated unions, so a reader can match on classes, and with `assert_never` the type checker finds a forgotten
kind. To pick out a few kinds, use `isinstance`:

    for event in read_events(folder.events):
        if isinstance(event, CallStarted) and isinstance(event.request, CommandRequest):
            print(event.time, event.request.command)
        elif isinstance(event, Graded):
            print(event.grade.score)

A call is one recorded interaction of an agent with the world: a command, a model call, a file written. It is logged as
`call_started` before it happens and as `call_finished` with its result; `CallFinished.call` is the number of the
`CallStarted` event. Everything an agent does between the two events of an action belongs to that action.
"""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, Literal, Self, assert_never

from pydantic import BeforeValidator, Field, PlainSerializer, TypeAdapter, model_validator

from assay.core.quantities import BoundedDatetime, BoundedInt, FiniteFloat, Model, Sha256
from assay.grading.result import Grade, RerunCause
from assay.lab.interface import Completed, Ended, ResourceSample, Sealing
from assay.models.messages import Message, Reply, Tool
from assay.models.settings import Sampling
from assay.records.budget import BudgetLimit, BudgetUsed
from assay.records.state import AnswerAccess, Selection, State, SubmissionEntry

FailureCause = Literal[
    "format",
    "arguments",
    "refused",
    "crash",
    "time",
    "memory",
    "disk",
    "output",
    "connection",
    "too long",
    "budget",
    "repeats",
]
"""Why an action failed, or why an agent gave up.

`format`: a reply that cannot be parsed. `arguments`: an action that does not exist or is called with wrong arguments.
`refused`: an action that is not allowed or has nothing to act on. `crash`: a script failed by itself. `time`, `memory`,
`disk`, `output`: a limit of the lab was reached. `connection`: a model could not be reached. `too long`: more text than
a model can read or write. `budget`: the trial's budget ran out during the action. `repeats`: the agent kept repeating
itself.
"""

GAVE_UP = "gave up"
"""Topic of the note with which an agent says that it stops because it cannot continue."""
FINAL_ANSWER = "Final Answer"
"""Name of the action with which an agent ends its work, where it has one."""


def _replace_surrogates(value: object) -> object:
    """Replace lone surrogates, which are valid in a Python string but in no file."""
    return value.encode(errors="replace").decode() if isinstance(value, str) else value


def _normalize_json(value: object) -> object:
    """Return data as it will be read back: lists for tuples, null for NaN, no lone surrogates."""
    text = json.dumps(value, ensure_ascii=False)
    return json.loads(text.encode(errors="replace"), parse_constant=lambda constant: None)


def _dump_message(message: Message) -> dict[str, Any]:
    return message.model_dump(mode="json", exclude_defaults=True)


Text = Annotated[str, BeforeValidator(_replace_surrogates)]
JsonObject = Annotated[dict[str, Any], BeforeValidator(_normalize_json)]
CompactMessage = Annotated[Message, PlainSerializer(_dump_message)]


class Content(Model):
    """Content of a file: in the log as `text` or `base64` where it is short, else in `snapshots/objects/` by digest."""

    sha256: Sha256
    size: BoundedInt
    text: str | None = None
    base64: str | None = None

    @property
    def inline(self) -> bool:
        """Whether the content is in the log itself."""
        return self.text is not None or self.base64 is not None


class Request(Model):
    """Base of everything an agent can ask for. `identity` names the fields that must be the same on replay."""

    identity: ClassVar[tuple[str, ...]] = ()

    def same_as(self, other: "Request") -> bool:
        """Whether an agent that is run again asks for the same thing."""
        return type(self) is type(other) and all(getattr(self, name) == getattr(other, name) for name in self.identity)


class Result(Model):
    """Base of what calls return."""

    def normalize(self) -> Self:
        """Return the result as it will be read back, so that an agent never sees anything else on replay."""
        return self.model_validate(_normalize_json(self.model_dump(mode="json")))


class Quote(Model):
    """A piece that was cut out of a message because the log has it: the observation of the action `call`, put back at
    character `at`."""

    call: BoundedInt
    at: BoundedInt


class QuotingMessage(Model):
    """A message without the observations it quotes. To restore it, insert the quotes from the last to the first."""

    message: CompactMessage
    quotes: tuple[Quote, ...]


class ReplyOf(Model):
    """The message with which a model replied to the call `reply_of`."""

    reply_of: BoundedInt


StoredMessage = CompactMessage | QuotingMessage | ReplyOf


class ModelRequest(Request):
    """A call to a model. Its prompt is the first `shared` messages of the earlier model call `base`, then `messages`.

    `tools` is None where the tools are those of `base`. `assay.records.prompts` restores whole prompts. `sampling` is
    what an external agent asked for.
    """

    identity = ("role",)

    type: Literal["model"] = "model"
    role: str
    base: int | None = None
    shared: BoundedInt = 0
    messages: tuple[StoredMessage, ...] = ()
    tools: tuple[Tool, ...] | None = None
    tool_choice: str | None = None
    sampling: Sampling | None = None


class ModelResult(Result):
    """A model's reply, or why there is none."""

    type: Literal["model"] = "model"
    reply: Reply | None = None
    failure: Literal["prompt_too_long", "rejected", "unavailable"] | None = None
    message: Text | None = None


class CommandRequest(Request):
    """A command in the lab, as a part of a step. `seconds` is its time limit.

    With `fresh`, it ran in a lab of its own, which was opened for it and had what every agent starts with.
    """

    identity = ("command",)

    type: Literal["command"] = "command"
    command: tuple[Text, ...]
    seconds: FiniteFloat
    stdin: Content | None = None
    fresh: bool = False


class UsageSample(Model):
    """Resource usage of a command and its children, `seconds` after it started.

    `cpu` is processor time so far in seconds, `memory` resident memory in bytes, `disk` the bytes of the workspace.
    """

    seconds: FiniteFloat
    cpu: FiniteFloat
    memory: BoundedInt
    disk: BoundedInt

    @classmethod
    def of_all(cls, samples: Sequence[ResourceSample]) -> "tuple[UsageSample, ...]":
        """Return the samples that a lab took."""
        return tuple(
            cls(seconds=sample.seconds, cpu=sample.cpu, memory=sample.memory, disk=sample.disk) for sample in samples
        )


class CommandResult(Result):
    """How a command ended and what it printed; the middle of very long output is omitted.

    `samples` has what it used over time; a command that ran for less than a second has none or one. `submission` is
    what it left as a submission in a lab of its own.
    """

    type: Literal["command"] = "command"
    ended: Ended
    code: int
    stdout: Text
    stderr: Text
    seconds: FiniteFloat
    samples: tuple[UsageSample, ...] = ()
    submission: Content | None = None

    @classmethod
    def of(cls, completed: Completed) -> "CommandResult":
        """Return the result of a command that ran in a lab."""
        return cls(
            ended=completed.ended,
            code=completed.code,
            stdout=completed.stdout.text,
            stderr=completed.stderr.text,
            seconds=round(completed.seconds, 3),
            samples=UsageSample.of_all(completed.samples),
        )

    @property
    def succeeded(self) -> bool:
        """Whether it ended by itself with exit code 0."""
        return self.ended == "exit" and self.code == 0


class ActionRequest(Request):
    """An action: one named step of an agent, which consists of the calls between its start and its end."""

    identity = ("name", "arguments")

    type: Literal["action"] = "action"
    name: Text
    arguments: JsonObject = Field(default_factory=dict)


class ActionResult(Result):
    """The observation an action returned to the agent, and the cause if it failed."""

    type: Literal["action"] = "action"
    observation: Text
    cause: FailureCause | None = None
    seconds: FiniteFloat


class PythonRequest(Request):
    """Code for the Python session in the lab, which keeps its state between calls. `seconds` is its time limit."""

    identity = ("code",)

    type: Literal["python"] = "python"
    code: Text
    seconds: FiniteFloat


class PythonResult(Result):
    """What the code printed; `ended` says how the session ended if it did; `lost` whether an earlier one was lost."""

    type: Literal["python"] = "python"
    output: Text
    seconds: FiniteFloat
    ended: Ended | None = None
    lost: bool = False


class WriteRequest(Request):
    """A file to write to the workspace."""

    identity = ("path", "digest")

    type: Literal["write"] = "write"
    path: Text
    content: Content

    @property
    def digest(self) -> str:
        """The SHA-256 of what is written, which is what counts on replay."""
        return self.content.sha256


class WriteResult(Result):
    """Whether a file was written; `refused` says why not."""

    type: Literal["write"] = "write"
    refused: Text | None = None


class ReadRequest(Request):
    """A file of the workspace to read."""

    identity = ("path",)

    type: Literal["read"] = "read"
    path: Text


class ReadResult(Result):
    """The content of a file, or why it cannot be read; `missing` if there is no such file."""

    type: Literal["read"] = "read"
    content: Content | None = None
    refused: Text | None = None
    missing: bool = False


class ListRequest(Request):
    """The files of the workspace, to be listed."""

    type: Literal["list"] = "list"


class ListResult(Result):
    """The files of the workspace, sorted by name."""

    type: Literal["list"] = "list"
    files: tuple[Text, ...]


class ValidationRequest(Request):
    """A check of the submission's format; `path` or the hash where it is another file, or one sent by the agent."""

    identity = ("path", "sha256")

    type: Literal["validation"] = "validation"
    path: Text | None = None
    sha256: Text | None = None


class ValidationResult(Result):
    """What is wrong with the format of the submission; None if it is valid."""

    type: Literal["validation"] = "validation"
    problem: Text | None = None


class OfferRequest(Request):
    """A candidate for the final submission; `path` where it is not the submission itself that is offered."""

    identity = ("path",)

    type: Literal["offer"] = "offer"
    path: Text | None = None


class OfferResult(Result):
    """What the agent is told about its candidate, which is what the policy of the trial allows; `reply` has all of it.

    `score` is that on the feedback half of the hidden rows, rounded; `rank` that among the candidates so far.
    """

    type: Literal["offer"] = "offer"
    reply: Text
    candidate: Sha256 | None = None
    problem: Text | None = None
    score: FiniteFloat | None = None
    rank: BoundedInt | None = None


class HumanRequest(Request):
    """A question to the person at the terminal."""

    identity = ("question",)

    type: Literal["human"] = "human"
    question: Text


class HumanResult(Result):
    """The person's answer; None if there is no terminal."""

    type: Literal["human"] = "human"
    answer: Text | None = None


class HumanPeriodRequest(Request):
    """A period in which a person works in the lab's shell."""

    type: Literal["human_period"] = "human_period"


HumanPeriodEnd = Literal["changed", "snapshot", "validate", "submit", "left", "disconnected", "ended", "time"]
"""Why a period of human work ended.

`changed`: the submission changed. `snapshot`: a snapshot was due. `validate`, `submit`: the person ran that command.
`left`: the person left the shell. `disconnected`: the terminal was closed. `ended`: everything in the lab ended.
`time`: time is up.
"""


class HumanPeriodResult(Result):
    """Why a period of human work ended, how the processes in the lab ended if they did, and what the screen showed."""

    type: Literal["human_period"] = "human_period"
    reason: HumanPeriodEnd
    ended: Ended | None = None
    screen: Text = ""


class ExternalProcessRequest(Request):
    """An external agent: a command that runs in the lab until it ends by itself or the budget does."""

    identity = ("command",)

    type: Literal["external_process"] = "external_process"
    command: tuple[Text, ...]


class ExternalProcessResult(Result):
    """How an external agent ended; `stopped_by` says what stopped it if it did not end by itself."""

    type: Literal["external_process"] = "external_process"
    ended: Ended
    code: int
    stdout: Text
    stderr: Text
    seconds: FiniteFloat
    stopped_by: Literal["time", "budget", "models"] | None = None
    samples: tuple[UsageSample, ...] = ()


class NoteRequest(Request):
    """Something an agent writes down about its own work: a `topic`, a `cause` and `reason` if it is about a problem."""

    identity = ("topic",)

    type: Literal["note"] = "note"
    topic: Text
    cause: FailureCause | None = None
    reason: Text | None = None
    data: JsonObject = Field(default_factory=dict)


class NoteResult(Result):
    """Notes have no result."""

    type: Literal["note"] = "note"


class Execution(Model):
    """The execution of a script: how it ended, how long it took, and the beginning and end of its output."""

    ended: Ended
    code: int
    seconds: FiniteFloat
    output: Text

    @property
    def succeeded(self) -> bool:
        """Whether the script ran to its end.

        When one of several scripts that run in parallel exceeds the memory limit, all of them are reported as ended by
        memory, even those that finished.
        """
        return self.code == 0 and self.ended in ("exit", "memory")


class SearchNode(Model):
    """One solution that a search tried: how it was made from its parents, and the result of executing it.

    Nodes are numbered from 0. `operator` says what was done with the parents, such as `draft`, `debug`, `improve` or
    `crossover`. `status` is `pending` until the solution was executed, and `measured` if it is none, but an experiment
    with one. `metric` is the agent's own validation metric,
    which a good node has, `rerun_metric` that of a second execution with another seed. `lower_is_better` is set if the
    agent decided on the direction of its metric, which otherwise is that of the task. `reason` says why a node is
    buggy, `review` is the summary of a review. `submission` is the SHA-256 of a submission whose format is valid.
    """

    id: int = Field(ge=0, lt=2**63)
    operator: Text
    parents: tuple[int, ...] = ()
    plan: Text = ""
    code: Text = ""
    status: Literal["pending", "good", "buggy", "measured"] = "pending"
    metric: FiniteFloat | None = None
    lower_is_better: bool | None = None
    rerun_metric: FiniteFloat | None = None
    reason: Text = ""
    review: Text = ""
    execution: Execution | None = None
    submission: Sha256 | None = None

    @property
    def good(self) -> bool:
        """Whether it can be improved and submitted."""
        return self.status == "good"

    @property
    def buggy(self) -> bool:
        """Whether its execution failed."""
        return self.status == "buggy"

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not all(0 <= parent < self.id for parent in self.parents):
            raise ValueError(f"node {self.id} cannot have the parents {self.parents}: parents have smaller numbers")
        if self.good and self.metric is None:
            raise ValueError(f"node {self.id} is good, but has no metric")
        return self


class NodeRequest(Request):
    """A node of the agent's search, recorded when it was evaluated, and again whenever it changed."""

    identity = ("id",)

    type: Literal["node"] = "node"
    node: SearchNode

    @property
    def id(self) -> int:
        """The number of the node."""
        return self.node.id


class NodeResult(Result):
    """Nodes have no result."""

    type: Literal["node"] = "node"


AnyRequest = Annotated[
    ModelRequest
    | CommandRequest
    | ActionRequest
    | PythonRequest
    | WriteRequest
    | ReadRequest
    | ListRequest
    | ValidationRequest
    | OfferRequest
    | HumanRequest
    | HumanPeriodRequest
    | ExternalProcessRequest
    | NoteRequest
    | NodeRequest,
    Field(discriminator="type"),
]
AnyResult = Annotated[
    ModelResult
    | CommandResult
    | ActionResult
    | PythonResult
    | WriteResult
    | ReadResult
    | ListResult
    | ValidationResult
    | OfferResult
    | HumanResult
    | HumanPeriodResult
    | ExternalProcessResult
    | NoteResult
    | NodeResult,
    Field(discriminator="type"),
]


class EventBase(Model):
    """What every event has: its number in the log, when it was written, and by the holder of which lease.

    `chain` is a hash of the line and of the `chain` of the line before. The log fills these fields in.
    """

    number: BoundedInt = -1
    time: BoundedDatetime = datetime.fromtimestamp(0, UTC)
    epoch: BoundedInt = 0
    chain: str = Field(default="", exclude=True)


class Started(EventBase):
    """A process begins or resumes the trial."""

    kind: Literal["started"] = "started"
    trial: str
    trial_file_sha256: Sha256
    attempt: BoundedInt


class LabOpened(EventBase):
    """The lab is ready. `answers` says whether code in it could reach the hidden answers."""

    kind: Literal["lab_opened"] = "lab_opened"
    sealing: Sealing
    answers: AnswerAccess
    gpus: tuple[int, ...] = ()
    load: float | None = Field(default=None, description="runnable processes per core of the machine")
    processor: str | None = Field(default=None, description="model of the machine's processor")
    gpu_model: str | None = Field(default=None, description="model of the trial's GPUs")
    cores: BoundedInt | None = Field(default=None, description="cores that the lab really has")
    memory: BoundedInt | None = Field(default=None, description="bytes of memory that the lab really has")


class CallStarted(EventBase):
    """A call begins. `action` is the number of the action it is part of, `changes` whether it can change the workspace.

    Calls of one `lane` follow each other; calls of different lanes may overlap.
    """

    kind: Literal["call_started"] = "call_started"
    step: BoundedInt
    request: AnyRequest
    changes: bool = False
    lane: str = ""
    action: int | None = None


class CallFinished(EventBase):
    """A call has ended. `call` is the number of its `call_started` event; `used` is what the trial has used by now."""

    kind: Literal["call_finished"] = "call_finished"
    call: BoundedInt
    result: AnyResult
    used: BudgetUsed


class SnapshotTaken(EventBase):
    """The workspace was saved to `snapshots/manifests/SNAPSHOT.json` after step `step`."""

    kind: Literal["snapshot_taken"] = "snapshot_taken"
    snapshot: Sha256
    step: BoundedInt


class Restarted(EventBase):
    """The agent did not repeat itself on replay, so it was started from an empty workspace; earlier calls are void."""

    kind: Literal["restarted"] = "restarted"
    reason: Text


OfferOrigin = Literal["step", "node", "agent", "end"]
"""Where a candidate came from: the workspace after a step, a node of a search, an explicit offer, or the end."""


class Offered(EventBase):
    """A candidate for the final submission was kept; `problem` says why it cannot be selected."""

    kind: Literal["offered"] = "offered"
    candidate: Sha256
    size: BoundedInt
    origin: OfferOrigin
    step: BoundedInt
    elapsed: FiniteFloat
    problem: Text | None = None
    code: Sha256 | None = Field(default=None, description="the code that it comes from, where code is submitted")


class CandidateScore(Model):
    """A candidate's score on hidden rows and its standard error, or why it has none."""

    candidate: Sha256
    score: FiniteFloat | None = None
    error: FiniteFloat | None = None
    problem: Text | None = None


class Picked(EventBase):
    """The candidate whose test rows are submitted, chosen after the agent's work ended.

    `own` is what the agent left as its submission, `hidden` the best candidate on hidden rows. `submission` is the
    SHA-256 of the test rows of the pick.
    """

    kind: Literal["picked"] = "picked"
    selection: Selection
    pick: Sha256 | None
    own: Sha256 | None
    hidden: Sha256 | None
    submission: Sha256 | None
    scores: tuple[CandidateScore, ...] = ()


class Reran(EventBase):
    """Submitted code was run from scratch in a fresh lab, after the agent's work had ended.

    `first` is the file that the code was submitted for, `produced` the one that it made in the fresh lab, and `unseen`
    the one that it made from inputs that the agent's own lab did not have. Digests are those of contents in the record.
    """

    kind: Literal["reran"] = "reran"
    code: Sha256 | None = None
    first: Sha256 | None = None
    produced: Sha256 | None = None
    unseen: Sha256 | None = None
    seed: BoundedInt
    limit: FiniteFloat
    seconds: FiniteFloat = 0.0
    sealed: bool = True
    output: Text = ""
    cause: RerunCause | None = None
    reason: Text | None = None


class BudgetExhausted(EventBase):
    """A limit of the budget ended the agent's work."""

    kind: Literal["budget_exhausted"] = "budget_exhausted"
    limit: BudgetLimit
    reason: Text


class AgentCrashed(EventBase):
    """The agent's own code raised an exception."""

    kind: Literal["agent_crashed"] = "agent_crashed"
    error_type: str
    message: Text
    traceback: Text


class InfrastructureFailed(EventBase):
    """The machine, the lab, the record or a model provider failed; the agent is not to blame."""

    kind: Literal["infrastructure_error"] = "infrastructure_error"
    error_type: str
    message: Text


class Inapplicable(EventBase):
    """The agent cannot work on this kind of task."""

    kind: Literal["inapplicable"] = "inapplicable"
    reason: Text


class Submitted(EventBase):
    """The agent's work has ended: what it submitted, and the trial's state at that moment."""

    kind: Literal["submitted"] = "submitted"
    submission: SubmissionEntry
    state: State


class Graded(EventBase):
    """The submission was graded."""

    kind: Literal["graded"] = "graded"
    grade: Grade


Event = Annotated[
    Started
    | LabOpened
    | CallStarted
    | CallFinished
    | SnapshotTaken
    | Restarted
    | Offered
    | Picked
    | Reran
    | BudgetExhausted
    | AgentCrashed
    | InfrastructureFailed
    | Inapplicable
    | Submitted
    | Graded,
    Field(discriminator="kind"),
]
EVENT_ADAPTER: TypeAdapter[Event] = TypeAdapter(Event)


def describe_event(event: Event) -> str:
    """Return the essence of an event as text; what agents and models wrote is in it as it is."""
    match event:
        case CallStarted(request=request):
            parts = [request.type, *_describe_request(request)]
        case CallFinished(result=result):
            parts = [result.type, describe_result(result)]
        case SnapshotTaken(step=step):
            parts = [f"step {step}"]
        case BudgetExhausted(reason=text) | Restarted(reason=text) | Inapplicable(reason=text):
            parts = [text]
        case AgentCrashed(message=text) | InfrastructureFailed(message=text):
            parts = [event.error_type, text]
        case Submitted(submission=submission):
            parts = [submission.file or submission.reason]
        case Graded(grade=grade):
            parts = [str(grade.not_finite or "no score" if grade.score is None else grade.score)]
        case Offered(candidate=candidate, problem=problem):
            parts = [event.origin, candidate[:12], problem or ""]
        case Picked(selection=selection, pick=pick):
            parts = [selection, pick[:12] if pick else "none", f"of {len(event.scores)} candidates"]
        case Reran(cause=cause, reason=text):
            parts = [cause or "", text or ""]
        case Started() | LabOpened():
            parts = []
        case _:
            assert_never(event)
    return "  ".join(part.strip() for part in parts if part)


def _describe_request(request: AnyRequest) -> list[str | None]:
    match request:
        case ActionRequest(name=name):
            return [name]
        case CommandRequest(command=command) | ExternalProcessRequest(command=command):
            return [" ".join(command)]
        case PythonRequest(code=code):
            return [code]
        case WriteRequest(path=path) | ReadRequest(path=path) | ValidationRequest(path=path) | OfferRequest(path=path):
            return [path]
        case ModelRequest(role=role):
            return [role]
        case NoteRequest(topic=topic, reason=reason):
            return [topic, reason]
        case NodeRequest(node=node):
            return [f"{node.id} {node.operator}", node.status, node.reason]
        case HumanRequest(question=question):
            return [question]
        case ListRequest() | HumanPeriodRequest():
            return []
    assert_never(request)


def describe_result(result: AnyResult) -> str:
    """Return what a call brought, as text; what agents and models wrote is in it as it is."""
    return "  ".join(part.strip() for part in _describe_result(result) if part)


def _describe_result(result: AnyResult) -> list[str | None]:
    match result:
        case CommandResult(code=code) | ExternalProcessResult(code=code):
            return [f"exit code {code}", result.stdout or result.stderr]
        case ActionResult(observation=observation):
            return [observation]
        case PythonResult(output=output):
            return [output]
        case ModelResult(reply=answer, message=message):
            return [answer.message.text if answer else message]
        case ValidationResult(problem=problem):
            return [problem or "valid"]
        case OfferResult(reply=reply):
            return [reply]
        case WriteResult(refused=refused) | ReadResult(refused=refused):
            return [refused]
        case HumanResult(answer=answer):
            return [answer]
        case HumanPeriodResult(reason=reason):
            return [reason]
        case ListResult() | NoteResult() | NodeResult():
            return []
    assert_never(result)
