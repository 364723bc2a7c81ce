"""Running an external agent in the lab: its command, its model endpoint, and its submission as it changes."""

import hashlib
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Literal

import anyio

from assay.agents.external.endpoint import Endpoint
from assay.agents.external.http import MAX_BODY, MAX_HEAD, HttpRequest, HttpResponse, json_response, serve_all
from assay.agents.workbench import Workbench
from assay.core.errors import AssayError, LabError, ModelError, UnsafePath
from assay.lab.execution import OutputBuffer
from assay.lab.interface import Process
from assay.records.events import CommandResult, ExternalProcessResult, OfferResult

SOCKET = "models"
PORT = 7777
POLL_SECONDS = 1.0
HEARTBEAT_SECONDS = 60.0
GRACE_SECONDS = 10.0
DISCONNECT_SECONDS = 0.05
_CHUNK = 65_536

StopReason = Literal["time", "budget", "models"]


@dataclass(frozen=True)
class ExternalCommand:
    """What to run: the command, its environment variables, and further paths to which it writes submissions.

    A `client` is the source of a program that runs the command and speaks its protocol.
    """

    command: Sequence[str]
    variables: Mapping[str, str] = field(default_factory=dict)
    submissions: Sequence[str] = ()
    client: Sequence[str] = ()


def acp_client(task_file: str) -> list[str]:
    """Return the words before a command that speaks the Agent Client Protocol: a client that gives it the task."""
    return ["python", "-u", "-c", files("assay.agents.external").joinpath("acp.py").read_text("utf-8"), task_file]


def placeholder_values(bench: Workbench, model: str, task: str, *, resumed: bool) -> dict[str, str]:
    """Return the values of the placeholders in a profile, in the open lab of a trial."""
    paths = bench.lab.paths
    sealed = bench.lab.sealing.sandbox != "none"
    # In a sealed lab every port is free; otherwise the host assigns one.
    port = PORT if sealed else _free_port()
    seconds = bench.clock.seconds_left - grace_seconds(bench)
    return {
        "task": task,
        "model": model,
        "port": str(port),
        "endpoint": f"http://127.0.0.1:{port}",
        "seconds": f"{max(1, seconds):.0f}",
        "max_seconds": f"{max(1, seconds * 0.9):.0f}",
        "steps": str(bench.clock.steps_left),
        "half_steps": str(max(1, bench.clock.steps_left // 2)),
        "submission": bench.task.submission.file,
        "workspace": paths.workspace,
        "python": f"{paths.environment}/bin/python",
        "agent": paths.tools or paths.environment,
        "resumed": "1" if resumed else "",
        "seed": str(bench.seed),
    }


def fill_placeholders(text: str, values: Mapping[str, str]) -> str:
    """Replace the placeholders in a text; other braces stay as they are."""
    for name, value in values.items():
        # The task may contain braces itself, so it is inserted last.
        if name != "task":
            text = text.replace(f"{{{name}}}", value)
    return text.replace("{task}", values["task"])


def grace_seconds(bench: Workbench) -> float:
    """Return how many seconds before the deadline an agent is asked to end, so that all is over by then."""
    return min(GRACE_SECONDS, bench.clock.budget.time / 10)


class CannotPause(Exception):
    """The processes in the lab cannot be paused at the moment."""


class ExternalAgentProcess:
    """The process of an external agent, from start to end."""

    def __init__(
        self, bench: Workbench, command: ExternalCommand, ports: Sequence[int], *, pass_sampling: bool = True
    ) -> None:
        self.endpoint = Endpoint(bench, self._validate, offer=self._offer, pass_sampling=pass_sampling)
        self.stopped_by: StopReason | None = None
        self._bench = bench
        self._command = command
        self._ports = ports
        self._stdout = OutputBuffer()
        self._ended = anyio.Event()
        self._pause_lock = anyio.Lock()
        self._process: Process | None = None
        self._stamps: dict[str, tuple[int, ...] | None] = {}
        self._recorded_stamps: dict[str, tuple[int, ...] | None] = {}
        self._valid_digest: str | None = None
        self._recorded_digest: str | None = None
        self._failure: Exception | None = None

    async def run(self) -> ExternalProcessResult:
        """Run the agent until it ends or must be stopped; return how it ended."""
        bench, lab = self._bench, self._bench.lab
        relay = files("assay.agents.external").joinpath("relay.py").read_text("utf-8")
        socket_path = f"{lab.paths.status}/{SOCKET}"
        ports = ",".join(map(str, self._ports))
        command = ["python", "-u", "-c", relay, socket_path, ports, *self._command.client, *self._command.command]
        max_body = max(MAX_BODY, bench.task.submission.max_size + MAX_HEAD)
        variables = await bench.publish_budget(max(0.0, bench.clock.seconds_left - grace_seconds(bench)))
        process = self._process = await lab.start(command, variables={**variables, **self._command.variables})
        async with await lab.listen(SOCKET) as listener, anyio.create_task_group() as tasks:
            tasks.start_soon(serve_all, listener, self._respond, max_body)
            tasks.start_soon(self._collect_output, process)
            try:
                await self._watch()
                if not self._ended.is_set():
                    await self._ask_to_end(process)
            except (AssayError, OSError) as error:
                self._failure = error  # raised below, not wrapped in an exception group
            finally:
                with anyio.CancelScope(shield=True):
                    completed = await process.kill()
                self._process = None
            # Without the agent, connections close by themselves; anyio complains if they are cancelled at that moment.
            await anyio.sleep(DISCONNECT_SECONDS)
            tasks.cancel_scope.cancel()
        if self._failure:
            raise self._failure
        await self._record_final()
        stdout = self._stdout
        stdout.add(completed.stdout.head + completed.stdout.tail)
        result = CommandResult.of(completed)
        return ExternalProcessResult(
            ended=result.ended,
            code=result.code,
            stdout=stdout.output().text,
            stderr=result.stderr,
            seconds=result.seconds,
            stopped_by=self.stopped_by,
            samples=result.samples,
        )

    async def _watch(self) -> None:
        """Monitor the submission, the time and the budget until the agent has ended or must be stopped."""
        bench, last_note = self._bench, anyio.current_time()
        while not self._ended.is_set():
            if bench.clock.seconds_left <= grace_seconds(bench):
                self.stopped_by = "time"
            elif self.endpoint.over.is_set():
                self.stopped_by = "models" if isinstance(self.endpoint.ended_by, ModelError) else "budget"
            if self.stopped_by or self._failure:
                return
            await self._poll_submissions()
            if anyio.current_time() - last_note > HEARTBEAT_SECONDS:
                # Without regular notes, a trial that is killed would not know how long it had worked.
                last_note = anyio.current_time()
                await bench.note("heartbeat")
            await bench.lab.write_status(json.dumps(bench.clock.left).encode())
            with anyio.move_on_after(min(POLL_SECONDS, max(0.05, bench.clock.seconds_left - grace_seconds(bench)))):
                await _wait_for_first(self._ended.wait, self.endpoint.over.wait)

    async def _poll_submissions(self) -> None:
        """Record submissions that have changed and then stayed the same between two polls."""
        for path in (self._bench.task.submission.file, *self._command.submissions):
            stamp = await self._bench.lab.change_stamp(path)
            stable = stamp == self._stamps.get(path) and stamp != self._recorded_stamps.get(path)
            self._stamps[path] = stamp
            if stamp is not None and stable:
                with suppress(CannotPause):
                    async with self._paused():
                        await self._record_submission(path)
                        self._recorded_stamps[path] = stamp

    async def _record_submission(self, path: str) -> None:
        """Record the submission at `path`, which becomes the trial's submission so far."""
        bench, rules = self._bench, self._bench.task.submission
        try:
            content = await bench.lab.read(path, max_size=rules.max_size)
        except UnsafePath:
            return
        digest = hashlib.sha256(content).hexdigest()
        if digest == self._recorded_digest:
            return
        if path != rules.file and not await self._write_submission(content):
            return
        self._recorded_digest = digest
        await bench.snapshot(force=True)
        reason = await bench.check_submission(content)
        if reason is None:
            self._valid_digest = digest
        await bench.note("submission", sha256=digest, size=len(content), path=path, fault=reason)

    async def _record_final(self) -> None:
        """Record the last submission; if the agent was stopped while writing it, restore the last valid one."""
        bench, rules = self._bench, self._bench.task.submission
        for path in (*self._command.submissions, rules.file):
            if await bench.lab.change_stamp(path) not in (None, self._recorded_stamps.get(path)):
                await self._record_submission(path)
        if self.stopped_by and self._valid_digest and self._recorded_digest != self._valid_digest:
            await self._write_submission(bench.read_content(self._valid_digest))

    async def _write_submission(self, content: bytes) -> bool:
        """Write the trial's submission; return False if the agent made that impossible, e.g. by filling its disk."""
        path = self._bench.task.submission.file
        try:
            await self._bench.write(path, content)
        except UnsafePath as error:
            await self._bench.note("submission not written", path=path, reason=str(error))
            return False
        return True

    async def _ask_to_end(self, process: Process) -> None:
        """Ask the agent to end, and wait for a moment."""
        try:
            await process.send(b"stop\n")
        except LabError:
            return
        with anyio.move_on_after(grace_seconds(self._bench)):
            await self._ended.wait()

    async def _validate(self, sent: bytes | None) -> str | None:
        if sent is not None:
            return await self._bench.validate(sent=sent)
        try:
            async with self._paused():
                return await self._bench.validate()
        except CannotPause:
            return "the submission cannot be read at the moment; try again"

    async def _offer(self) -> OfferResult:
        try:
            async with self._paused():
                return await self._bench.offer()
        except CannotPause:
            return OfferResult(reply="the submission cannot be read at the moment; try again")

    @asynccontextmanager
    async def _paused(self) -> AsyncIterator[None]:
        """Pause the agent, so that its workspace can be read consistently."""
        async with self._pause_lock:
            process = self._process
            if process is None:
                yield
                return
            try:
                await process.pause()
            except LabError as error:
                raise CannotPause from error
            try:
                yield
            finally:
                await process.unpause()

    async def _collect_output(self, process: Process) -> None:
        try:
            while True:
                self._stdout.add(await process.receive_some(_CHUNK))
        except LabError:
            self._ended.set()

    async def _respond(self, request: HttpRequest) -> HttpResponse:
        """Answer a request; a failure that is not the agent's fault ends the trial."""
        try:
            return await self.endpoint.respond(request)
        except (AssayError, OSError) as error:
            self._failure = error
            self._ended.set()
            return json_response(500, {"error": {"message": "internal error"}})


async def _wait_for_first(*waits: Callable[[], Awaitable[object]]) -> None:
    async with anyio.create_task_group() as tasks:

        async def wait_and_cancel(wait: Callable[[], Awaitable[object]]) -> None:
            await wait()
            tasks.cancel_scope.cancel()

        for wait in waits:
            tasks.start_soon(wait_and_cancel, wait)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
