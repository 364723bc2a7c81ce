"""What an agent works with: the task's public side, the lab, models, and its budget.

Every call goes through the recorder, so it is logged, and replayed when the trial is resumed.
"""

import errno
import hashlib
import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from anyio import to_thread

from assay.agents.model_budget import ModelBudget
from assay.agents.observation import Observation
from assay.agents.offers import Offers
from assay.agents.pressure import PRESSURE, begins_round, pressure_message
from assay.agents.provider_check import ProviderCheck
from assay.agents.python_session import PythonSession
from assay.agents.recorder import Recorder
from assay.agents.terminal import TERMINAL, ask_person
from assay.core.disk import atomic_write, make_private_folder
from assay.core.errors import ModelError, PromptTooLong, RefusedCode, RequestRejected, UnsafePath, UsageError
from assay.grading.by_running.hidden_tests import pack_workspace
from assay.grading.result import CLAIM_FILE
from assay.lab.interface import WHOLE, Completed, Lab, Share
from assay.lab.snapshots import Snapshot
from assay.records import Clock
from assay.records.code import MAX_CODE, Code, Solution, choose_files, collect_code, make_code
from assay.records.events import (
    ActionRequest,
    AnyRequest,
    CommandRequest,
    CommandResult,
    Content,
    FailureCause,
    HumanRequest,
    HumanResult,
    ListRequest,
    ListResult,
    ModelResult,
    NodeRequest,
    NodeResult,
    NoteRequest,
    NoteResult,
    OfferRequest,
    OfferResult,
    PythonRequest,
    PythonResult,
    ReadRequest,
    ReadResult,
    SearchNode,
    ValidationRequest,
    ValidationResult,
    WriteRequest,
    WriteResult,
)
from assay.records.tape import AResult, Call
from assay.tasks import Task

if TYPE_CHECKING:
    from assay.models import Message, Models, Reply, Sampling, Tool

RunFresh = Callable[[Sequence[str], float, bytes, Share], Awaitable[tuple[Completed, bytes | None]]]
"""Run a command in a lab of its own: the command, its time limit, its standard input, and which share of the trial's
resources it has."""
MAX_EMPTY_REPLIES = 3
_FULL = "there is no space left in the workspace for {path!r}"
_REFUSALS = {errno.ENOSPC: _FULL, errno.EDQUOT: _FULL, errno.ENAMETOOLONG: "{path!r} is too long a name"}


class Workbench:
    """The only way for an agent to act: the lab and models, under a budget, everything recorded.

    `check_format` returns what is wrong with the format of a submission, or None. `obfuscated` says whether the
    description hides which competition the task comes from. `provider_failed`: an earlier attempt ended because a model
    did not answer. `offers` keeps candidates for the final submission where the harness selects it. `solution` says
    where the agent's code is, in a trial in which code is submitted. `claims` says whether it is asked for a claim.
    `run_fresh` runs a command in a lab of its own.
    """

    def __init__(
        self,
        task: Task,
        lab: Lab,
        recorder: Recorder,
        *,
        seed: int,
        check_format: Callable[[bytes], str | None],
        models: "Models | None" = None,
        description: str | None = None,
        obfuscated: bool = False,
        provider_failed: bool = False,
        offers: Offers | None = None,
        solution: Solution | None = None,
        claims: bool = False,
        run_fresh: RunFresh | None = None,
    ) -> None:
        self.task = task
        self.lab = lab
        self.seed = seed
        self.terminal = TERMINAL
        self.round = 0
        self._description = task.description if description is None else description
        self.obfuscated = obfuscated
        self.validations = 0
        self._replied: set[str] = set()
        self._recorder = recorder
        self._check_format = check_format
        self.offers = offers
        self.solution, self.claims = solution, claims
        self._code: dict[str, bytes] = {}
        self._run_fresh = run_fresh
        if offers:
            recorder.after_snapshot = self._offer_snapshot
        self._models = models
        self._model_budget = ModelBudget(recorder.clock)
        self._provider_check = ProviderCheck(suspect=provider_failed)
        self._session: PythonSession | None = None
        self._session_open = False
        self._asked = False
        self._skipped: Sequence[Call] | None = None

    @property
    def description(self) -> str:
        """The task's description; after the agent's own end, with what the user then asked for."""
        message = pressure_message(self.round)
        return (
            f"{self._description.rstrip()}\n\n# Message from the user\n\n{message}\n" if message else self._description
        )

    async def begin_round(self) -> None:
        """Begin a further round of work, in which the user asks for a better score."""
        await self.note(PRESSURE, round=self.round + 1, message=pressure_message(self.round + 1))
        self.round += 1

    @property
    def clock(self) -> Clock:
        """What is used of the budget, and what is left."""
        return self._recorder.clock

    @property
    def model_roles(self) -> frozenset[str]:
        """The roles that have a model of their own."""
        return self._models.roles if self._models else frozenset()

    @property
    def models_that_replied(self) -> frozenset[str]:
        """The models that have replied so far, to the agent or to a test prompt."""
        return frozenset(self._replied | self._provider_check.models_that_answered)

    async def run(self, command: Sequence[str], *, seconds: float | None = None, stdin: bytes = b"") -> CommandResult:
        """Run a command in the workspace as one step, for at most `seconds` and never past the deadline."""
        self.clock.step()
        result = await self.execute(command, seconds=seconds, stdin=stdin)
        await self.snapshot()
        return result

    async def act(
        self, name: str, arguments: Mapping[str, Any], perform: Callable[[], Awaitable[Observation]]
    ) -> Observation:
        """Take one step as a named action: everything `perform` does with the workbench is part of it.

        The record has the action with its arguments, the observation, how long it took, and the cause if it failed. A
        snapshot is taken after it.
        """
        self.clock.step()
        return await self._recorder.act(ActionRequest(name=name, arguments=dict(arguments)), perform)

    async def execute(
        self,
        command: Sequence[str],
        *,
        seconds: float | None = None,
        stdin: bytes = b"",
        changes: bool = True,
        lane: str = "",
        check: Callable[[CommandResult], None] | None = None,
    ) -> CommandResult:
        """Run a command as part of a step; pass `changes=False` if it only reads the workspace.

        Commands that run concurrently need a `lane` each. The workspace can be read and written when all have ended.
        A result for which `check` raises an error is not recorded, so a trial that is retried runs the command again.
        """
        allowed = self._limit_seconds(seconds)

        async def perform() -> CommandResult:
            variables = await self.publish_budget(allowed)
            result = CommandResult.of(await self.lab.run(command, seconds=allowed, stdin=stdin, variables=variables))
            if check:
                check(result)
            return result

        content = self._recorder.contents.put(stdin) if stdin else None
        request = CommandRequest(command=tuple(command), seconds=round(allowed, 3), stdin=content)
        return await self._recorder.call(request, perform, CommandResult, changes=changes, lane=lane)

    async def run_fresh(
        self,
        command: Sequence[str],
        *,
        seconds: float | None = None,
        stdin: bytes = b"",
        lane: str = "",
        share: Share = WHOLE,
    ) -> CommandResult:
        """Run a command as part of a step in a new lab of its own, beside this one and others; close it afterwards.

        The lab has what every agent starts with, and a share of the trial's processors, memory and GPUs. The result has
        the submission that the command left there.
        """
        if self._run_fresh is None:
            raise UsageError("this trial opens no further labs")
        run, allowed = self._run_fresh, self._limit_seconds(seconds)

        async def perform() -> CommandResult:
            completed, submission = await run(command, allowed, stdin, share)
            content = None if submission is None else self._recorder.contents.put(submission)
            return CommandResult.of(completed).model_copy(update={"submission": content})

        content = self._recorder.contents.put(stdin) if stdin else None
        request = CommandRequest(command=tuple(command), seconds=round(allowed, 3), stdin=content, fresh=True)
        return await self._recorder.call(request, perform, CommandResult, lane=lane)

    async def run_python(self, code: str, *, seconds: float | None = None) -> PythonResult:
        """Run code in a Python session that keeps its state, as part of a step.

        Between calls the session and everything it started are paused. A session that takes too long is ended, and so
        is that of an interrupted trial: the next call starts a new one, and its result says so.
        """
        allowed = self._limit_seconds(seconds)

        async def perform() -> PythonResult:
            variables = await self.publish_budget(allowed)
            lost = self._session_open and self._session is None
            session = self._session or await PythonSession.start(self.lab, variables)
            # If the call is cancelled, the session is gone with it.
            self._session = None
            result = await session.execute(code, allowed)
            self._session = session if result.ended is None else None
            return result.model_copy(update={"lost": lost})

        request = PythonRequest(code=code, seconds=round(allowed, 3))
        result = await self._recorder.call(request, perform, PythonResult, changes=True)
        self._session_open = result.ended is None
        return result

    async def write(self, path: str, content: str | bytes) -> None:
        """Write a file to the workspace; `UnsafePath` if that is not possible."""
        data = content.encode(errors="replace") if isinstance(content, str) else content
        if self.solution and path in self.solution.files:
            self._code[path] = data

        async def perform() -> WriteResult:
            try:
                await self.lab.write(path, data)
            except UnsafePath as error:
                return WriteResult(refused=str(error))
            except OSError as error:
                if error.errno not in _REFUSALS:
                    raise
                return WriteResult(refused=_REFUSALS[error.errno].format(path=path))
            return WriteResult()

        request = WriteRequest(path=path, content=self._recorder.contents.put(data))
        result = await self._recorder.call(request, perform, WriteResult, changes=True)
        if result.refused is not None:
            raise UnsafePath(result.refused)

    async def read(self, path: str, *, max_size: int = 10**7) -> bytes:
        """Read a plain file of the workspace; `UnsafePath` if it is not one."""

        async def perform() -> ReadResult:
            try:
                data = await self.lab.read(path, max_size=max_size)
            except UnsafePath as error:
                return ReadResult(refused=str(error), missing=isinstance(error.__cause__, FileNotFoundError))
            return ReadResult(content=self._recorder.contents.put(data))

        result = await self._recorder.call(ReadRequest(path=path), perform, ReadResult)
        if result.content is None:
            cause = FileNotFoundError() if result.missing else None
            raise UnsafePath(result.refused or f"{path} cannot be read") from cause
        return self._recorder.contents.get(result.content)

    async def list_files(self) -> list[str]:
        """List the plain files of the workspace, without the data, sorted by name."""

        async def perform() -> ListResult:
            return ListResult(files=tuple([str(path) async for path in self.lab.files()]))

        return list((await self._recorder.call(ListRequest(), perform, ListResult)).files)

    async def ask(
        self,
        role: str,
        messages: Sequence["Message"],
        tools: Sequence["Tool"] = (),
        *,
        lane: str = "",
        record_failures: bool = False,
        tool_choice: str | None = None,
        sampling: "Sampling | None" = None,
    ) -> "Reply":
        """Ask the model of a role; its reply is logged before anything is done with it.

        That a prompt is too long is logged too. That a model is unavailable is not, so that a trial that ends because
        of it asks again when it is resumed; an agent that continues without the reply passes `record_failures`. A reply
        that reached the output limit of the plan before it had any content is asked for again.
        """
        if self._models is None:
            raise UsageError("this agent needs a model; pass --model PROVIDER/MODEL")
        models = self._models
        self.clock.check()

        async def perform() -> ModelResult:
            async with self._model_budget.reserve(models, role, messages, tools, sampling):
                self._asked = True
                try:
                    reply = await self._provider_check.ask(
                        models,
                        role,
                        lambda: models.ask(role, messages, tools, choice=tool_choice, sampling=sampling),
                    )
                except PromptTooLong as error:
                    return ModelResult(failure="prompt_too_long", message=str(error))
                except ModelError as error:
                    if not record_failures:
                        raise
                    rejected = isinstance(error, RequestRejected)
                    return ModelResult(failure="rejected" if rejected else "unavailable", message=str(error))
                self.clock.count(
                    tokens=reply.usage.total_tokens, cost=reply.usage.cost, waited=reply.waited, since=reply.seconds
                )
                return ModelResult(reply=reply)

        own_limit = sampling is not None and sampling.max_tokens is not None
        for _ in range(MAX_EMPTY_REPLIES):
            result = await self._recorder.ask_model(
                role, messages, tools, perform, tool_choice=tool_choice, sampling=sampling, lane=lane
            )
            if result.reply is None:
                message = result.message or ""
                if result.failure == "rejected":
                    raise RequestRejected(message, models.name(role))
                raise PromptTooLong(message) if result.failure == "prompt_too_long" else ModelError(message)
            self._remember(models, result.reply)
            self._model_budget.learn(models, role, messages, tools, result.reply.usage)
            if own_limit or not result.reply.cut_off_before_content:
                return result.reply
        name = models.name(role)
        reason = f"{name} reached its output limit before it wrote anything, {MAX_EMPTY_REPLIES} times in a row"
        if await models.answers(role):
            # The limit is enough for other prompts: it is what the agent asks that is answered by nothing.
            raise RequestRejected(f"{reason}; it answers a test prompt, but not this one", name)
        raise ModelError(f"{reason}; raise max_tokens or reasoning_room, or lower reasoning_effort")

    async def find_model_trouble(self) -> str | None:
        """Return why a model, not the agent, is to blame if the time is over now; None if it is the agent."""
        models = self._models
        trouble = models.trouble if models else None
        if self._asked and not trouble and not self.models_that_replied:
            trouble = "no model replied in the time of the trial"
        if models is None or trouble is None:
            return None
        # Models that answer a test prompt are not down: what the agent sent takes too long.
        answers = [await models.answers(role) for role in sorted(models.roles)]
        return None if all(answers) else trouble

    async def ask_human(self, question: str) -> str | None:
        """Ask the person at the terminal and wait for the answer; None if there is no terminal."""
        self.clock.check()

        async def perform() -> HumanResult:
            began = time.monotonic()
            answer = await to_thread.run_sync(ask_person, question, self.terminal, abandon_on_cancel=True)
            self.clock.count(tokens=0, cost=0.0, waited=time.monotonic() - began)
            return HumanResult(answer=answer)

        return (await self._recorder.call(HumanRequest(question=question), perform, HumanResult)).answer

    async def validate(self, path: str | None = None, sent: bytes | None = None) -> str | None:
        """Return what is wrong with the format of the submission in the workspace, or None; never a score.

        With a `path`, that file is checked as if it were submitted, or else what the agent has `sent`.
        """

        async def perform() -> ValidationResult:
            content, reason = (sent, None) if sent is not None else await self.read_submission(path)
            return ValidationResult(problem=reason if content is None else await self.check_submission(content))

        self.validations += 1
        digest = None if sent is None else hashlib.sha256(sent).hexdigest()
        request = ValidationRequest(path=path, sha256=digest)
        return (await self._recorder.call(request, perform, ValidationResult)).problem

    async def offer(self, path: str | None = None) -> OfferResult:
        """Offer the submission in the workspace, or the file at `path`, as a candidate for the final submission.

        The result says what the policy of the trial tells agents: nothing, a rank, or a score on hidden rows. It never
        depends on test rows. Where agents select by themselves, it says so and nothing else happens. Where code is
        submitted, the agent's code is offered: what it makes in a fresh lab is the candidate.
        """

        live = list[bool]()

        async def perform() -> OfferResult:
            live.append(True)
            if self.offers is None:
                return OfferResult(reply="You select the final submission yourself.")
            if self.solution and path is None:
                return await self.offers.answer_code(await self.read_code(self.solution))
            content, reason = await self.read_submission(path)
            if content is None:
                return OfferResult(reply=str(reason), problem=reason)
            return await self.offers.answer(content)

        result = await self._recorder.call(OfferRequest(path=path), perform, OfferResult)
        if self.offers and not live:
            self.offers.replayed(result)
        return result

    async def claim(
        self,
        score: float,
        low: float | None = None,
        high: float | None = None,
        *,
        success: bool | None = None,
        did: str = "",
    ) -> None:
        """State the expected score of the submission, with a 90% interval, whether it is a success, and what was done.

        It is the file `claim.json` of the workspace, which agents may also write themselves; the last one counts.
        """
        claim = {"score": score, "low": low, "high": high, "target_reached": success, "did": did or None}
        stated = {name: value for name, value in claim.items() if value is not None}
        await self.write(CLAIM_FILE, json.dumps(stated, indent=2))

    async def note(
        self, topic: str, *, cause: FailureCause | None = None, reason: str | None = None, **data: Any
    ) -> None:
        """Record something about the agent's own work."""

        async def perform() -> NoteResult:
            return NoteResult()

        await self._recorder.call(NoteRequest(topic=topic, cause=cause, reason=reason, data=data), perform, NoteResult)

    async def record_node(self, node: SearchNode, submission: bytes | None = None) -> SearchNode:
        """Record a node of the agent's search once it was evaluated, and again whenever it changed.

        `submission` is the content of a submission with a valid format: its digest is in the node that is returned, and
        it can be graded after the trial. From nodes follow the search tree, their scores, and the oracle curve.
        """
        digest = node.submission if submission is None else self._recorder.contents.keep(submission)
        node = SearchNode.model_validate(node.model_dump() | {"submission": digest})

        if submission is not None and self.offers:
            await self.offers.add(submission, "node", self._code_of(node))

        async def perform() -> NodeResult:
            return NodeResult()

        await self._recorder.call(NodeRequest(node=node), perform, NodeResult)
        return node

    async def record(
        self, request: AnyRequest, perform: Callable[[], Awaitable[AResult]], result_type: type[AResult]
    ) -> AResult:
        """Record something that a long-lived process in the lab does."""
        return await self._recorder.call(request, perform, result_type, changes=True)

    async def snapshot(self, *, force: bool = False, only_changed: bool = False) -> None:
        """Save the workspace. `force`: a long-lived process may have changed it. `only_changed`: unless it is saved."""
        await self._recorder.snapshot(force=force, only_changed=only_changed)

    async def skip_replay(self) -> Sequence[Call]:
        """Return the calls made before the trial was interrupted, for an agent that cannot be replayed.

        None of them is repeated or answered again: they stay in the record, what they used is used, and the workspace
        is that of the last snapshot.
        """
        if self._skipped is not None:  # in a further round
            return self._skipped
        calls = self._skipped = await self._recorder.skip_replay()
        for call in calls:
            if isinstance(call.result, ModelResult) and call.result.reply and self._models:
                self._remember(self._models, call.result.reply)
            elif isinstance(call.result, OfferResult) and self.offers:
                self.offers.replayed(call.result)
        self.round = max(self.round, sum(begins_round(call.request) for call in calls))
        return calls

    async def read_submission(self, path: str | None = None) -> tuple[bytes | None, str | None]:
        """Return the submission that is now in the workspace, or at another `path`, or the reason why there is none."""
        await self._recorder.restore()
        submission = self.task.submission
        try:
            if submission.form == "workspace":
                return await pack_workspace(self.lab, submission), None
            return await self.lab.read(path or submission.file, max_size=submission.max_size), None
        except UnsafePath as error:
            return None, f"nothing was submitted: {error}"

    async def read_code(self, solution: Solution) -> Code | RefusedCode:
        """Return the agent's code that is now in the workspace, or why there is none."""
        await self._recorder.restore()
        try:
            names = choose_files(solution, [str(path) async for path in self.lab.files()])
            contents = {name: await self.lab.read(name, max_size=MAX_CODE + 1) for name in names}
            return make_code(solution.command, contents)
        except UnsafePath as error:
            return RefusedCode(str(error))
        except RefusedCode as error:
            return error

    async def check_submission(self, content: bytes) -> str | None:
        """Return what is wrong with the format of a submission; this is not recorded."""
        return await to_thread.run_sync(self._check_format, content)

    def read_content(self, content: str | Content) -> bytes:
        """Return what a file contained when a snapshot was taken, by its digest, or what a result refers to."""
        if isinstance(content, Content):
            return self._recorder.contents.get(content)
        return self._recorder.contents.get_by_digest(content)

    async def collect_files(self, patterns: Sequence[str], max_size: int) -> list[str]:
        """Copy files of the workspace that match a pattern to the record's folder, up to `max_size` bytes in total.

        In patterns, `*` also matches `/`. The files are not trusted: copies are not executable, and only printable
        names are copied.
        """
        copied = []
        names = [str(path) async for path in self.lab.files()]
        for name in names:
            if not name.isprintable() or not any(fnmatchcase(name, pattern) for pattern in patterns):
                continue
            try:
                content = await self.lab.read(name, max_size=max_size)
            except UnsafePath:
                continue  # it is larger than what is left, or gone
            folder = self._recorder.trial_folder / "trajectory"
            make_private_folder(folder)
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            atomic_write(target, content)
            max_size -= len(content)
            copied.append(name)
        return copied

    async def publish_budget(self, seconds: float) -> dict[str, str]:
        """Write the remaining budget to where code in the lab can read it, and return the variables for that code."""
        await self.lab.write_status(json.dumps(self.clock.left).encode())
        return {"SEED": str(self.seed), "PYTHONHASHSEED": str(self.seed), "DEADLINE": f"{time.time() + seconds:.0f}"}

    async def _offer_snapshot(self, snapshot: Snapshot) -> None:
        """Offer the submission of a snapshot; a file too large to be one is no candidate."""
        rules = self.task.submission
        file = snapshot.files.get(rules.file)
        if self.offers and file and file.size <= rules.max_size:
            await self.offers.add(self.read_content(file.sha256), "step", self._find_code(snapshot))

    def _find_code(self, snapshot: Snapshot) -> Code | None:
        """Return the agent's code in a snapshot, if there is any and it is to be submitted."""
        if self.solution is None:
            return None
        with suppress(RefusedCode):
            return collect_code(self.solution, snapshot, self._recorder.contents.get_by_digest)
        return None

    def _code_of(self, node: SearchNode) -> Code | None:
        """Return the script of a node as code of its own, with the files that the agent wrote for all nodes."""
        if self.solution is None:
            return None
        script = {self.solution.files[0]: node.code.encode(errors="replace")}
        with suppress(RefusedCode):
            return make_code(self.solution.command, self._code | script)
        return None

    def _remember(self, models: "Models", reply: "Reply") -> None:
        models.remember(reply)
        self._replied.add(reply.model)

    def _limit_seconds(self, seconds: float | None) -> float:
        """Return the time for one part of a step: never more than is left."""
        return min(seconds or self.clock.seconds_left, self.clock.seconds_left)
