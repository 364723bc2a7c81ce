"""An outside agent at work in the lab: its command, the endpoint it asks, and its submission watched as it changes."""

import hashlib
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, Literal

import anyio

from assay.agents.external.endpoint import Endpoint
from assay.agents.external.http import Request, Response, json_response, serve_all
from assay.agents.serialize import told
from assay.agents.workbench import Workbench
from assay.core.errors import AssayError, LabError, ModelError, UnsafePath
from assay.lab.execution import OutputBuffer
from assay.lab.interface import Process

SOCKET = "models"
PORT = 7777
LOOK = 1.0
HEARTBEAT = 60.0
GRACE = 10.0
SETTLING = 0.05
_CHUNK = 65_536

Cut = Literal["time", "budget", "models"]


@dataclass(frozen=True)
class Order:
    """What is to be run: the command, its variables, and where else it writes what it would hand in."""

    command: Sequence[str]
    variables: Mapping[str, str] = field(default_factory=dict)
    submissions: Sequence[str] = ()


def known(bench: Workbench, model: str, task: str, *, resumed: bool) -> dict[str, str]:
    """What the names in braces stand for, in the open lab of a trial."""
    seen = bench.lab.paths
    sealed = bench.lab.sealing.sandbox != "none"
    # In a sealed lab every port is free; elsewhere the machine knows one that is.
    port = PORT if sealed else _free_port()
    seconds = bench.clock.seconds_left - grace(bench)
    return {
        "task": task,
        "model": model,
        "port": str(port),
        "endpoint": f"http://127.0.0.1:{port}",
        "seconds": f"{max(1, seconds):.0f}",
        "most_seconds": f"{max(1, seconds * 0.9):.0f}",
        "steps": str(bench.clock.steps_left),
        "half_steps": str(max(1, bench.clock.steps_left // 2)),
        "submission": bench.task.submission.file,
        "workspace": seen.workspace,
        "python": f"{seen.environment}/bin/python",
        "agent": seen.tools or seen.environment,
        "resumed": "1" if resumed else "",
        "seed": str(bench.seed),
    }


def filled(text: str, values: Mapping[str, str]) -> str:
    """A text with the names in braces replaced; other braces stay as they are."""
    for name, value in values.items():
        # The task may have braces of its own, so it is put in last.
        text = text if name == "task" else text.replace(f"{{{name}}}", value)
    return text.replace("{task}", values["task"])


def grace(bench: Workbench) -> float:
    """How long before the end of its time an agent is asked to end, in seconds: all must be over by then."""
    return min(GRACE, bench.clock.budget.time / 10)


class Restless(Exception):
    """What runs in the lab cannot be held still at the moment."""


class Outside:
    """An outside agent while it works."""

    def __init__(self, bench: Workbench, order: Order, port: int) -> None:
        self.endpoint = Endpoint(bench, self._validate)
        self.cut: Cut | None = None
        self._bench = bench
        self._order = order
        self._port = port
        self._stdout = OutputBuffer()
        self._over = anyio.Event()
        self._still = anyio.Lock()
        self._process: Process | None = None
        self._stamps: dict[str, tuple[int, ...] | None] = {}
        self._taken: dict[str, tuple[int, ...] | None] = {}
        self._valid: str | None = None
        self._handed_in: str | None = None
        self._failure: Exception | None = None

    async def run(self) -> dict[str, Any]:
        """Let it work until it ends or must be ended; says how it ended."""
        bench, lab = self._bench, self._bench.lab
        relay = files("assay.agents.external").joinpath("relay.py").read_text()
        socket_seen = f"{lab.paths.status}/{SOCKET}"
        command = ["python", "-u", "-c", relay, socket_seen, str(self._port), *self._order.command]
        variables = await bench.tell_budget(max(0.0, bench.clock.seconds_left - grace(bench)))
        process = self._process = await lab.start(command, variables={**variables, **self._order.variables})
        async with await lab.listen(SOCKET) as listener, anyio.create_task_group() as tasks:
            tasks.start_soon(serve_all, listener, self._respond)
            tasks.start_soon(self._gather, process)
            try:
                await self._watch()
                if not self._over.is_set():
                    await self._ask_to_end(process)
            except (AssayError, OSError) as error:
                self._failure = error  # raised below as it is, not wrapped in a group
            finally:
                with anyio.CancelScope(shield=True):
                    completed = await process.kill()
                self._process = None
            # With the agent gone, connections end by themselves; cancelled in that moment, anyio would complain.
            await anyio.sleep(SETTLING)
            tasks.cancel_scope.cancel()
        if self._failure:
            raise self._failure
        await self._settle()
        stdout = self._stdout
        stdout.add(completed.stdout.head + completed.stdout.tail)
        return {**told(completed), "stdout": stdout.output().text, "cut": self.cut}

    async def _watch(self) -> None:
        """Look at the submission, the time and the budget until one of them says that it is over."""
        bench, beat = self._bench, anyio.current_time()
        while not self._over.is_set():
            if bench.clock.seconds_left <= grace(bench):
                self.cut = "time"
            elif self.endpoint.over.is_set():
                self.cut = "models" if isinstance(self.endpoint.ended_by, ModelError) else "budget"
            if self.cut or self._failure:
                return
            await self._look()
            if anyio.current_time() - beat > HEARTBEAT:
                # Without a word now and then, a trial that is killed would not know how long it had worked.
                beat = anyio.current_time()
                await bench.note("at work")
            await bench.lab.write_status(json.dumps(bench.clock.left).encode())
            with anyio.move_on_after(min(LOOK, max(0.05, bench.clock.seconds_left - grace(bench)))):
                await _first(self._over.wait, self.endpoint.over.wait)

    async def _look(self) -> None:
        """Take what is handed in so far, once it has changed and then stayed the same from one look to the next."""
        for path in (self._bench.task.submission.file, *self._order.submissions):
            stamp = await self._bench.lab.change_stamp(path)
            settled = stamp == self._stamps.get(path) and stamp != self._taken.get(path)
            self._stamps[path] = stamp
            if stamp is not None and settled:
                with suppress(Restless):
                    async with self._held():
                        await self._take(path)
                        self._taken[path] = stamp

    async def _take(self, path: str) -> None:
        """Keep a submission that lies there, as what is handed in so far."""
        bench, wanted = self._bench, self._bench.task.submission
        try:
            content = await bench.lab.read(path, max_size=wanted.max_size)
        except UnsafePath:
            return
        digest = hashlib.sha256(content).hexdigest()
        if digest == self._handed_in:
            return
        if path != wanted.file:
            await bench.lab.write(wanted.file, content)
        self._handed_in = digest
        await bench.keep()
        fault = await bench.fault_of(content)
        if fault is None:
            self._valid = digest
        await bench.note("submission", sha256=digest, size=len(content), path=path, fault=fault)

    async def _settle(self) -> None:
        """Take what it wrote last; where it was cut off in the middle, the last good one is what it handed in."""
        bench, wanted = self._bench, self._bench.task.submission
        for path in (*self._order.submissions, wanted.file):
            if await bench.lab.change_stamp(path) not in (None, self._taken.get(path)):
                await self._take(path)
        if self.cut and self._valid and self._handed_in != self._valid:
            await bench.write(wanted.file, bench.kept_content(self._valid))

    async def _ask_to_end(self, process: Process) -> None:
        """Ask it to end, and give it a moment to do so."""
        try:
            await process.send(b"stop\n")
        except LabError:
            return
        with anyio.move_on_after(grace(self._bench)):
            await self._over.wait()

    async def _validate(self) -> str | None:
        try:
            async with self._held():
                return await self._bench.validate()
        except Restless:
            return "it could not be looked at just now; try again"

    @asynccontextmanager
    async def _held(self) -> AsyncIterator[None]:
        """Hold the agent still, so that its workspace can be read and kept."""
        async with self._still:
            process = self._process
            if process is None:
                yield
                return
            try:
                await process.pause()
            except LabError as error:
                raise Restless from error
            try:
                yield
            finally:
                await process.unpause()

    async def _gather(self, process: Process) -> None:
        try:
            while True:
                self._stdout.add(await process.receive_some(_CHUNK))
        except LabError:
            self._over.set()

    async def _respond(self, request: Request) -> Response:
        """Answer a request; what is not the agent's fault ends the trial instead."""
        try:
            return await self.endpoint.respond(request)
        except (AssayError, OSError) as error:
            self._failure = error
            self._over.set()
            return json_response(500, {"error": {"message": "the harness failed"}})


async def _first(*waits: Callable[[], Awaitable[object]]) -> None:
    """Return when one of them does."""
    async with anyio.create_task_group() as tasks:

        async def one(wait: Callable[[], Awaitable[object]]) -> None:
            await wait()
            tasks.cancel_scope.cancel()

        for wait in waits:
            tasks.start_soon(one, wait)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
