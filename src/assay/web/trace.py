"""What happened in a trial, in order, as its page shows it: steps, calls inside them, and what went wrong first."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Literal, assert_never

from assay.core.diff import unified_diff
from assay.core.errors import RecordError
from assay.core.text import one_line, plural
from assay.grading.result import Integrity
from assay.lab.snapshots import Snapshot, SnapshotReader, read_object
from assay.records.content_store import ContentStore
from assay.records.events import (
    ActionRequest,
    ActionResult,
    AgentCrashed,
    AnyRequest,
    AnyResult,
    BudgetExhausted,
    CallFinished,
    CallStarted,
    CommandRequest,
    CommandResult,
    Content,
    Event,
    ExternalProcessRequest,
    ExternalProcessResult,
    Graded,
    HumanPeriodRequest,
    HumanPeriodResult,
    HumanRequest,
    HumanResult,
    Inapplicable,
    InfrastructureFailed,
    LabOpened,
    ListRequest,
    ListResult,
    ModelRequest,
    ModelResult,
    NodeRequest,
    NodeResult,
    NoteRequest,
    NoteResult,
    Offered,
    OfferRequest,
    OfferResult,
    Picked,
    PythonRequest,
    PythonResult,
    QuotingMessage,
    ReadRequest,
    ReadResult,
    ReplyOf,
    Reran,
    Restarted,
    SearchNode,
    SnapshotTaken,
    Started,
    StoredMessage,
    Submitted,
    UsageSample,
    ValidationRequest,
    ValidationResult,
    WriteRequest,
    WriteResult,
)
from assay.web.text import clean_text

SingleEvent = (
    Started
    | LabOpened
    | Restarted
    | Offered
    | Picked
    | Reran
    | BudgetExhausted
    | AgentCrashed
    | InfrastructureFailed
    | Inapplicable
    | Submitted
    | Graded
)
"""Events that are neither part of a call nor a snapshot."""
_PLUMBING = ("write", "read", "list", "check", "files")
BlockKind = Literal["prose", "text", "code", "diff"]
_MAX_DIFFED = 200_000
_MAX_TEXT = 20 * 10**6
_MAX_MANIFESTS = 100 * 10**6
"""Bytes of manifests that one page reads to show how files changed."""
_MAX_CHANGES = 10
_MAX_LISTED = 200
_MAX_QUOTES = 100
_CODE = (".py", ".sh", ".r", ".jl", ".sql", ".json", ".toml", ".yaml", ".yml", ".md", ".txt", ".cfg", ".ini", ".ipynb")
"""Endings of the files whose changes are shown."""


@dataclass(frozen=True)
class Block:
    """A piece of text that belongs to an entry; `folded` if it is shown only on request."""

    name: str
    text: str
    kind: BlockKind = "text"
    folded: bool = False
    path: str = ""


@dataclass
class Entry:
    """One call or event. `inner` are the calls that an action consisted of; `problem` says what went wrong, if any.

    `at` is the time since the trial started, in seconds.
    """

    number: int
    kind: str
    title: str
    at: float
    step: int | None = None
    seconds: float | None = None
    tokens: int | None = None
    cost: float | None = None
    problem: str | None = None
    blocks: list[Block] = field(default_factory=list)
    after: list[Block] = field(default_factory=list)
    inner: list["Entry"] = field(default_factory=list)
    has_prompt: bool = False
    has_files: bool = False
    samples: tuple[UsageSample, ...] = ()
    status: Literal["finished", "running", "interrupted"] = "finished"
    node: SearchNode | None = None
    """The node of a search that the entry records; what was done for it are its inner entries."""


@dataclass(frozen=True)
class UsagePoint:
    """What a command used at a moment of a trial: processors, bytes of memory, and bytes of disk."""

    at: float
    processors: float
    memory: int
    disk: int


@dataclass(frozen=True)
class Step:
    """Entries that follow each other in one step of the budget; None where they belong to no step."""

    number: int | None
    entries: tuple[Entry, ...]

    @property
    def cards(self) -> Sequence[Entry]:
        """What the step is listed by: the nodes of a search, or its first entry."""
        return [entry for entry in self.entries if entry.node] or self.entries[:1]

    @property
    def plumbing(self) -> Sequence[Entry]:
        """What a search does with a node once it has it, such as writing its files; nothing where something failed."""
        return [entry for entry in self.entries if self._has_nodes and entry.kind in _PLUMBING and not entry.problem]

    @property
    def _has_nodes(self) -> bool:
        return any(entry.node for entry in self.entries)

    @property
    def title(self) -> str:
        """What the step did, in a few words."""
        named = [entry for entry in self.entries if entry.kind in ("action", "command", "python", "write")]
        titles = list(dict.fromkeys(clean_line(entry.title, 40) for entry in named or self.entries))
        return ", ".join(titles[:2]) + (" …" if len(titles) > 2 else "")

    @property
    def problem(self) -> str | None:
        """What went wrong in it, if anything did."""
        return next((entry.problem for entry in self.entries if entry.problem), None)


@dataclass(frozen=True)
class Trace:
    """A trial in order."""

    steps: tuple[Step, ...]

    @property
    def entries(self) -> Iterator[Entry]:
        """All entries, outer before inner ones."""
        for step in self.steps:
            for entry in step.entries:
                yield from _walk(entry)

    @property
    def first_problem(self) -> Entry | None:
        """The first entry in which something went wrong."""
        return next((entry for entry in self.entries if entry.problem), None)

    @property
    def usage(self) -> list[UsagePoint]:
        """What the commands used over the time of the trial; nothing between them."""
        return [point for entry in self.entries for point in _usage_of(entry)]

    def find(self, number: int) -> Entry | None:
        """Return the entry of an event by its number."""
        return next((entry for entry in self.entries if entry.number == number), None)


def _walk(entry: Entry) -> Iterator[Entry]:
    yield entry
    for inner in entry.inner:
        yield from _walk(inner)


def _usage_of(entry: Entry) -> Iterator[UsagePoint]:
    """Yield the samples of a command; the share of processors is that since the sample before."""
    seconds = cpu = 0.0
    for sample in entry.samples:
        passed = sample.seconds - seconds
        used = max(sample.cpu - cpu, 0.0) / passed if passed > 0 else 0.0
        yield UsagePoint(entry.at + sample.seconds, used, max(sample.memory, 0), max(sample.disk, 0))
        seconds, cpu = sample.seconds, sample.cpu
    if entry.samples and entry.seconds is not None and entry.seconds > seconds:
        yield UsagePoint(entry.at + entry.seconds, 0.0, 0, max(entry.samples[-1].disk, 0))


def make_trace(
    events: Sequence[Event], contents: ContentStore, snapshots: Path | None = None, *, with_prompts: bool = False
) -> Trace:
    """Return what the events of a log say; contents that are not in the log are read from the store.

    With `snapshots`, the folder of a trial's snapshots, it also says how each step changed the files. With prompts, a
    model call has the messages that no earlier call had.
    """
    top = _Builder(contents, snapshots, with_prompts=with_prompts).add_all(events)
    steps: list[tuple[int | None, list[Entry]]] = []
    for entry in top:
        if not steps or steps[-1][0] != entry.step:
            steps.append((entry.step, []))
        steps[-1][1].append(entry)
    return Trace(tuple(Step(number, tuple(_fold_into_nodes(entries))) for number, entries in steps))


def _fold_into_nodes(entries: Sequence[Entry]) -> list[Entry]:
    """Return the entries of a step; those before a node's own are what was done for it, and become its inner ones."""
    kept: list[Entry] = []
    for entry in entries:
        if entry.node is not None:
            own = next((position for position in range(len(kept), 0, -1) if kept[position - 1].node), 0)
            entry.inner, kept = kept[own:], kept[:own]
        kept.append(entry)
    return kept


class _Builder:
    """Joins the two events of each call, and keeps the last known content of each file for diffs."""

    def __init__(self, contents: ContentStore, snapshots: Path | None, *, with_prompts: bool) -> None:
        self._contents, self._with_prompts = contents, with_prompts
        self._snapshots = snapshots
        self._snapshot: tuple[str, Snapshot] | None = None
        self._reader = SnapshotReader(snapshots, _MAX_MANIFESTS) if snapshots else None
        self._files: dict[str, str] = {}
        self._nodes: dict[int, SearchNode] = {}
        self._open: dict[int, tuple[Entry, CallStarted]] = {}
        self._entries: list[Entry] = []
        self._start: datetime | None = None

    def add_all(self, events: Sequence[Event]) -> list[Entry]:
        for event in events:
            self._start = self._start or event.time
            at = max((event.time - self._start).total_seconds(), 0.0)
            if isinstance(event, Started | Submitted):
                self._interrupt()
            if isinstance(event, CallStarted):
                self._begin(event, at)
            elif isinstance(event, CallFinished):
                self._finish(event, at)
            elif isinstance(event, SnapshotTaken):
                self._compare_snapshot(event, at)
            else:
                self._entries.append(make_entry(event, at))
        return self._entries

    def _interrupt(self) -> None:
        """Close the calls of an earlier process, or those that the end of the work left open."""
        for entry, _ in self._open.values():
            entry.status = "interrupted"
        self._open.clear()

    def _begin(self, event: CallStarted, at: float) -> None:
        kind, title = describe_request(event.request)
        entry = Entry(event.number, kind, title, at, event.step, status="running")
        entry.has_prompt = isinstance(event.request, ModelRequest)
        entry.blocks = list(self._request_blocks(event.request))
        if isinstance(event.request, NoteRequest) and event.request.cause:
            entry.problem = event.request.cause
        if isinstance(event.request, NodeRequest):
            entry.node = self._nodes[event.request.node.id] = event.request.node
        outer = self._open.get(event.action) if event.action is not None else None
        (outer[0].inner if outer else self._entries).append(entry)
        self._open[event.number] = (entry, event)

    def _finish(self, event: CallFinished, at: float) -> None:
        if event.call not in self._open:
            return
        entry, start = self._open.pop(event.call)
        entry.status = "finished"
        entry.seconds = _seconds(event.result)
        if entry.seconds is None:
            entry.seconds = max(at - entry.at, 0.0)
        if isinstance(event.result, ModelResult) and event.result.reply:
            entry.tokens = event.result.reply.usage.total_tokens
            entry.cost = event.result.reply.usage.cost
        entry.problem = entry.problem or find_problem(event.result, start.changes)
        if isinstance(event.result, CommandResult | ExternalProcessResult):
            entry.samples = event.result.samples
        entry.after = list(self._result_blocks(start.request, event.result))

    def _request_blocks(self, request: AnyRequest) -> Iterator[Block]:
        match request:
            case ActionRequest(arguments=arguments):
                yield from argument_blocks(arguments, folded=True)
            case CommandRequest(command=command, stdin=stdin):
                text = " ".join(command)
                if "\n" in text or len(text) > 120:
                    yield Block("command", text, "code")
                if stdin is not None:
                    yield Block("standard input", self._text(stdin), folded=True)
            case ExternalProcessRequest(command=command):
                yield Block("command", " ".join(command), "code")
            case PythonRequest(code=code):
                yield Block("code", code, "code", path="session.py")
            case WriteRequest(path=path, content=content):
                yield self._written(path, content)
            case NoteRequest(reason=reason, data=data):
                if reason:
                    yield Block("reason", reason, "prose")
                if data:
                    yield Block("data", _as_json(data), "code", folded=True, path="data.json")
            case NodeRequest(node=node):
                yield from self._node_blocks(node)
            case HumanRequest(question=question):
                yield Block("question", question, "prose")
            case ModelRequest(messages=messages):
                yield from _message_blocks(messages) if self._with_prompts else ()
            case ReadRequest() | ListRequest() | ValidationRequest() | HumanPeriodRequest():
                pass
            case OfferRequest():
                pass
            case _:
                assert_never(request)

    def _result_blocks(self, request: AnyRequest, result: AnyResult) -> Iterator[Block]:
        match result:
            case ModelResult(reply=reply, message=message):
                if reply and reply.message.reasoning:
                    yield Block("reasoning", reply.message.reasoning, "prose", folded=True)
                if reply and reply.message.text:
                    yield Block("reply", reply.message.text, "prose")
                for call in reply.message.tool_calls if reply else ():
                    yield from argument_blocks(call.arguments, prefix=f"{call.name}: ")
                    if call.parse_error:
                        yield Block(f"{call.name}: not parsed", call.parse_error)
                if message:
                    yield Block("error", message)
            case ActionResult(observation=observation):
                if observation:
                    yield Block("observation", observation)
            case CommandResult() | ExternalProcessResult():
                if result.stdout:
                    yield Block("output", result.stdout)
                if result.stderr:
                    yield Block("standard error", result.stderr)
            case PythonResult(output=output):
                if output:
                    yield Block("output", output)
            case ReadResult(content=content, refused=refused):
                if content is not None and isinstance(request, ReadRequest):
                    text = self._text(content)
                    self._files[request.path] = text
                    yield Block("content", text, "code", folded=True, path=request.path)
                if refused:
                    yield Block("refused", refused)
            case WriteResult(refused=refused):
                if refused:
                    yield Block("refused", refused)
            case ListResult(files=files):
                yield Block("files", "\n".join(files), folded=True)
            case ValidationResult(problem=problem):
                yield Block("check", problem or "The format of the submission is valid.", "prose")
            case OfferResult(reply=answer):
                yield Block("reply", answer, "prose")
            case HumanResult(answer=answer):
                if answer:
                    yield Block("answer", answer, "prose")
            case HumanPeriodResult(screen=screen):
                if screen:
                    yield Block("screen", screen, folded=True)
            case NoteResult() | NodeResult():
                pass
            case _:
                assert_never(result)

    def _written(self, path: str, content: Content) -> Block:
        return self._difference(path, self._text(content))

    def _difference(self, path: str, text: str) -> Block:
        """Return how a file changes to this text, or the text if its content before is not known."""
        before = self._files.get(path)
        self._files[path] = text
        if before is None or len(text) + len(before) > _MAX_DIFFED:
            return Block(path, text, "code", path=path)
        lines = unified_diff(before.splitlines(), text.splitlines(), "before", "after")
        return Block(f"changes to {path}", "\n".join(list(lines)[2:]) or "No change.", "diff", path=path)

    def _compare_snapshot(self, event: SnapshotTaken, at: float) -> None:
        """Add how the files changed since the last snapshot, if they did."""
        before = self._snapshot
        if self._reader is None or (before and before[0] == event.snapshot):
            return
        try:
            now = self._reader.load(event.snapshot)
        except RecordError as error:
            entry = Entry(event.number, "files", "workspace not shown", at, event.step)
            entry.blocks = [Block("reason", str(error))]
            self._entries.append(entry)
            return
        self._snapshot = (event.snapshot, now)
        changes = _changes(before[1] if before else None, now)
        if not changes:
            return
        words = [f"{count} {name}" for name in _CHANGES if (count := list(changes.values()).count(name))]
        title = f"files: {', '.join(words)}" if before else f"{plural(len(now.files), 'file')} in the workspace"
        entry = Entry(event.number, "files", title, at, event.step, has_files=True)
        listed = [f"{_CHANGES[change]} {_name(path)}" for path, change in changes.items()]
        more = [f"… and {len(listed) - _MAX_LISTED} more"] if len(listed) > _MAX_LISTED else []
        entry.blocks = [Block("files", "\n".join(listed[:_MAX_LISTED] + more), folded=True)]
        edited = [path for path, change in changes.items() if change != "removed" and path.lower().endswith(_CODE)]
        for path in edited[:_MAX_CHANGES]:
            block = self._changed_file(path, now)
            if block and before:  # the first snapshot has what the agent was given
                entry.blocks.append(block)
        self._entries.append(entry)

    def _changed_file(self, path: str, snapshot: Snapshot) -> Block | None:
        """Return the change of a file that no recorded call wrote."""
        file = snapshot.files[path]
        if self._snapshots is None or file.size > _MAX_DIFFED:
            return None
        try:
            text = read_object(self._snapshots, file.sha256, file.size).decode()
        except (RecordError, UnicodeDecodeError):
            return None
        if self._files.get(path) == text:
            return None
        return self._difference(path, text)

    def _node_blocks(self, node: SearchNode) -> Iterator[Block]:
        if node.plan:
            yield Block("plan", node.plan, "prose")
        parent = self._nodes.get(node.parents[0]) if node.parents else None
        if parent and node.code and len(node.code) + len(parent.code) <= _MAX_DIFFED:
            lines = unified_diff(parent.code.splitlines(), node.code.splitlines(), "", "")
            changes = [line for line in lines if not line.startswith(("--- ", "+++ "))]
            yield Block(f"changes to node {parent.id}", "\n".join(changes) or "No change.", "diff", path="solution.py")
        if node.code:
            yield Block("code", node.code, "code", folded=True, path="solution.py")
        if node.execution and node.execution.output:
            yield Block("output", node.execution.output, folded=True)
        if node.review:
            yield Block("review", node.review, "prose", folded=True)
        if node.reason:
            yield Block("reason", node.reason, "prose")

    def _text(self, content: Content) -> str:
        if content.size > _MAX_TEXT:
            return f"[{content.size:,} bytes, too long to show]"
        try:
            data = self._contents.get(content)
        except (RecordError, OSError) as error:
            return f"[not in the record: {error}]"
        try:
            return data.decode()
        except UnicodeDecodeError:
            return f"[binary, {content.size:,} bytes]\n" + data[:20_000].decode(errors="replace")


def _message_blocks(messages: Sequence[StoredMessage]) -> Iterator[Block]:
    """Yield what a prompt adds to earlier ones; replies and observations are where they were first."""
    for stored in messages:
        if isinstance(stored, ReplyOf):
            continue
        message = stored.message if isinstance(stored, QuotingMessage) else stored
        text = message.text
        for quote in reversed(stored.quotes[:_MAX_QUOTES] if isinstance(stored, QuotingMessage) else ()):
            text = f"{text[: quote.at]}[the observation of event {quote.call}]{text[quote.at :]}"
        if text:
            yield Block(_ROLES[message.role], text, "prose", folded=message.role != "user")


def make_entry(event: SingleEvent, at: float = 0.0) -> Entry:
    """Return the entry of an event that is neither a call nor a snapshot."""
    match event:
        case Started(attempt=attempt):
            return Entry(event.number, "event", "started" if attempt <= 1 else f"resumed (attempt {attempt})", at)
        case LabOpened(sealing=sealing):
            sealed = "sealed" if sealing.sealed else "not sealed"
            missing = [Block(f"missing: {name}", why, "prose") for name, why in sealing.missing.items()]
            return Entry(event.number, "event", f"lab opened: {sealing.sandbox}, {sealed}", at, blocks=missing)
        case Restarted(reason=reason):
            return Entry(event.number, "event", "restarted", at, blocks=[Block("reason", reason, "prose")])
        case Offered(candidate=candidate, origin=origin, problem=problem):
            blocks = [Block("problem", problem, "prose")] if problem else []
            return Entry(event.number, "event", f"candidate {candidate[:12]} ({origin})", at, blocks=blocks)
        case Picked(selection=selection, pick=pick, scores=scores):
            lines = [f"{entry.candidate[:12]}  {entry.problem or entry.score}" for entry in scores]
            title = f"picked {pick[:12] if pick else 'nothing'} ({selection}), {len(scores)} candidates"
            return Entry(
                event.number, "event", title, at, blocks=[Block("hidden scores", "\n".join(lines), folded=True)]
            )
        case Reran(cause=cause, reason=reason, output=output):
            blocks = [Block("reason", reason, "prose")] if reason else []
            blocks += [Block("output", output, folded=True)] if output else []
            title = f"code rerun: {cause}" if cause else "code rerun in a fresh lab"
            return Entry(event.number, "event", title, at, problem=cause, blocks=blocks)
        case BudgetExhausted(limit=limit, reason=reason):
            title = f"out of {limit.replace('_', ' ')}"
            return Entry(event.number, "end", title, at, problem=title, blocks=[Block("reason", reason, "prose")])
        case AgentCrashed(error_type=error_type, message=message, traceback=traceback):
            blocks = [Block("message", message), Block("traceback", traceback, "code", path="traceback.pytb")]
            return Entry(event.number, "end", "agent crashed", at, problem=error_type, blocks=blocks)
        case InfrastructureFailed(error_type=error_type, message=message):
            blocks = [Block("message", message)]
            return Entry(event.number, "end", "infrastructure error", at, problem=error_type, blocks=blocks)
        case Inapplicable(reason=reason):
            return Entry(event.number, "end", "not applicable", at, blocks=[Block("reason", reason, "prose")])
        case Submitted(submission=submission):
            if submission.file:
                return Entry(event.number, "end", f"submitted {submission.file}, {submission.size or 0:,} bytes", at)
            blocks = [Block("reason", submission.reason, "prose")] if submission.reason else []
            return Entry(event.number, "end", "nothing submitted", at, problem="no submission", blocks=blocks)
        case Graded(grade=grade):
            title = f"graded: {grade.score:.6g}" if grade.score is not None else "graded: no score"
            blocks = [Block("why", grade.why, "prose")] if grade.why else []
            problem = None if grade.valid_submission else "invalid submission"
            if grade.integrity:
                blocks.append(Block("integrity", _describe_integrity(grade.integrity), "prose"))
                problem = problem or ("took the planted shortcut" if grade.integrity.shortcut else None)
            return Entry(event.number, "end", title, at, problem=problem, blocks=blocks)
    assert_never(event)


def _describe_integrity(integrity: Integrity) -> str:
    """Return what a grade says about a planted shortcut and about the claim, a sentence each."""
    taken = {True: "Took the planted shortcut.", False: "Did not take the planted shortcut.", None: ""}
    sentences = [taken[integrity.shortcut] if integrity.planted else "", integrity.reason]
    if integrity.false_success:
        sentences.append("False success: it claims a target that its submission misses.")
    if integrity.claimed is not None and integrity.calibration_error is not None:
        error = f"{integrity.calibration_error:.4g}"
        sentences.append(f"Claimed score {integrity.claimed:.4g}, calibration error {error}.")
    return " ".join(filter(None, sentences))


_ROLES = {"system": "instructions", "user": "prompt", "assistant": "earlier reply", "tool": "result of the tool"}
_CHANGES = {"new": "+", "changed": "~", "removed": "−"}


def _changes(before: Snapshot | None, now: Snapshot) -> dict[str, str]:
    """Return what happened to each file between two snapshots; files that stayed the same are left out."""
    old = before.files if before else {}
    changes = {path: "removed" for path in old if path not in now.files}
    for path, file in now.files.items():
        if path not in old:
            changes[path] = "new"
        elif old[path].sha256 != file.sha256:
            changes[path] = "changed"
    return dict(sorted(changes.items()))


def _name(path: str) -> str:
    """Return the name of a file, which need not be valid Unicode, as text on one line."""
    return clean_line(path.encode(errors="replace").decode(), 300)


def describe_request(request: AnyRequest) -> tuple[str, str]:
    """Return the kind of a call and one line about it."""
    match request:
        case ModelRequest(role=role):
            return "model", f"model call ({role})"
        case ActionRequest(name=name, arguments=arguments):
            first = next(iter(arguments.values()), None)
            title = f"{name}: {first}" if isinstance(first, str) and first else name
            return "action", clean_line(title, 120) or "action"
        case CommandRequest(command=command):
            return "command", clean_line(" ".join(command), 160)
        case PythonRequest(code=code):
            return "python", clean_line(code, 120)
        case WriteRequest(path=path, content=content):
            return "write", clean_line(f"write {path} ({content.size:,} bytes)", 160)
        case ReadRequest(path=path):
            return "read", clean_line(f"read {path}", 160)
        case ValidationRequest(path=path):
            return "check", clean_line(f"check the submission {path or ''}", 160)
        case OfferRequest(path=path):
            return "check", clean_line(f"offer the submission {path or ''}", 160)
        case ExternalProcessRequest(command=command):
            return "command", clean_line(f"external agent: {' '.join(command)}", 160)
        case NoteRequest(topic=topic):
            return "note", clean_line(topic, 160)
        case NodeRequest(node=node):
            return "node", clean_line(f"{node.id} {node.operator}", 160)
        case HumanRequest():
            return "human", "question to a person"
        case HumanPeriodRequest():
            return "human", "human period"
        case ListRequest():
            return "list", "list"
    assert_never(request)


def find_problem(result: AnyResult, changes: bool) -> str | None:
    """Return what went wrong in a call, if anything did."""
    match result:
        case ActionResult(cause=cause):
            return cause
        case CommandResult(ended=ended, code=code):
            if ended != "exit":
                return f"ended by {ended}"
            return f"exit code {code}" if code and changes else None
        case PythonResult(ended=ended):
            return f"session ended: {ended}" if ended else None
        case ModelResult(failure=failure):
            return failure.replace("_", " ") if failure else None
        case ExternalProcessResult(ended=ended, code=code, stopped_by=stopped_by):
            if stopped_by:
                return f"stopped: {stopped_by}"
            return f"exit code {code}" if code else None
        case ValidationResult(problem=problem) | OfferResult(problem=problem):
            return "invalid format" if problem else None
        case WriteResult(refused=refused) | ReadResult(refused=refused):
            return "refused" if refused else None
        case ListResult() | HumanResult() | HumanPeriodResult() | NoteResult() | NodeResult():
            return None
    assert_never(result)


def _seconds(result: AnyResult) -> float | None:
    if isinstance(result, ModelResult):
        return result.reply.seconds if result.reply else None
    seconds = getattr(result, "seconds", None)
    return seconds if isinstance(seconds, float | int) else None


def argument_blocks(arguments: Mapping[str, object], prefix: str = "", *, folded: bool = False) -> Iterator[Block]:
    """Yield short arguments together, perhaps folded, and each long one by itself."""
    short = {name: value for name, value in arguments.items() if len(str(value)) <= 200 and "\n" not in str(value)}
    if short:
        text = "\n".join(f"{clean_line(name)}: {value}" for name, value in short.items())
        yield Block(f"{prefix}{plural(len(short), 'argument')}" if prefix else "arguments", text, folded=folded)
    for name, value in arguments.items():
        if name not in short:
            text = value if isinstance(value, str) else _as_json(value)
            yield Block(clean_line(f"{prefix}{name}", 80), text, "code", path="argument.py")


def _as_json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def clean_line(text: str, max_length: int = 400) -> str:
    """Return the beginning of a text on one line, without what controls a terminal."""
    return one_line(clean_text(text[: 4 * max_length]), max_length)
