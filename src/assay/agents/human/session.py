"""A person's session in a lab: a shell in the lab, a terminal on the host, and the connection between them."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from time import monotonic

import anyio

from assay.agents.human.terminal import RawTerminal
from assay.agents.workbench import Workbench
from assay.core.errors import LabError
from assay.core.quantities import format_duration
from assay.lab.execution import OutputBuffer
from assay.lab.interface import Ended, Process
from assay.records.events import HumanPeriodEnd, HumanPeriodResult

NEW_SHELL = "This is a new shell: your files are still there, but no processes are running any more."
FINAL_REASONS = ("submit", "left", "disconnected", "ended", "time")

_CHUNK = 65_536
_MAX_FRAME = 10**6
_SEND_TIMEOUT = 1.0  # what is not read by then stays in the buffer


@dataclass(frozen=True)
class Monitoring:
    """Which file to monitor, how often, and how often to snapshot the workspace, in seconds."""

    file: str
    poll: float
    snapshot: float


class HumanSession:
    """A person's shell in the lab. Between work periods everything in it is paused, so snapshots are consistent."""

    def __init__(self, bench: Workbench, terminal: RawTerminal, monitoring: Monitoring, welcome: str) -> None:
        self._bench = bench
        self._terminal = terminal
        self._monitoring = monitoring
        self._welcome = welcome
        self._process: Process | None = None
        self._received = b""
        self._pending_request: int | None = None
        self._window = (0, 0)
        self._typed = False
        self._stamp: tuple[int, ...] | None = None
        self._recorded_stamp: tuple[int, ...] | None = None

    async def work_until_event(self, *, resumed: bool = False) -> HumanPeriodResult:
        """Let the person work until something is worth recording; the lab is paused or ended afterwards.

        With `resumed`, the person is informed that the shell is a new one.
        """
        process, screen = self._process or await self._start(resumed), OutputBuffer()
        reason: HumanPeriodEnd = "time"
        try:
            await process.unpause()
            with anyio.move_on_after(self._bench.clock.seconds_left):
                reason = await self._wait_for_event(process, screen)
            ended = None
            if reason in FINAL_REASONS:
                ended = await self._end(process, reason)
            else:
                await process.pause()
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self.close()
            raise
        return HumanPeriodResult(reason=reason, ended=ended, screen=screen.output().text)

    async def answer(self, text: str, code: int) -> None:
        """Answer the command that waits for the host, if it still does."""
        if self._process is not None and self._pending_request is not None:
            number, self._pending_request = self._pending_request, None
            content = json.dumps({"text": text, "code": code})
            await _send(self._process, b"a", f"{number} {content}".encode())

    async def close(self) -> None:
        """End everything that runs in the lab."""
        if self._process is not None:
            process, self._process = self._process, None
            await process.kill()

    async def _start(self, resumed: bool) -> Process:
        """Start a new shell and greet the person."""
        await self._terminal.show("\n\n".join(filter(None, [self._welcome, NEW_SHELL if resumed else ""])))
        self._welcome = ""
        self._stamp = self._recorded_stamp = await self._bench.lab.change_stamp(self._monitoring.file)
        source = files("assay.agents.human").joinpath("human_shell.py").read_text("utf-8")
        variables = await self._bench.publish_budget(self._bench.clock.seconds_left)
        self._process = await self._bench.lab.start(["python", "-u", "-c", source], variables=variables)
        self._received, self._pending_request, self._window, self._typed = b"", None, (0, 0), False
        return self._process

    async def _end(self, process: Process, reason: HumanPeriodEnd) -> Ended:
        """End everything in the lab and return how it ended; a shell that never received a key is a lab error."""
        self._process = None
        completed = await process.kill()
        if reason == "ended" and not self._typed:
            raise LabError(f"cannot start a shell in the lab: {completed.stderr.text.strip()[-2000:]}")
        return completed.ended

    async def _wait_for_event(self, process: Process, screen: OutputBuffer) -> HumanPeriodEnd:
        """Forward input and output and monitor the submission concurrently; return the first event."""
        events: list[HumanPeriodEnd | LabError] = []
        async with anyio.create_task_group() as tasks:

            async def run(part: Callable[[], Awaitable[HumanPeriodEnd | None]]) -> None:
                try:
                    event: HumanPeriodEnd | LabError | None = await part()
                except LabError as error:
                    event = error
                if event is not None:
                    events.append(event)
                    tasks.cancel_scope.cancel()

            tasks.start_soon(run, partial(self._forward_input, process))
            tasks.start_soon(run, partial(self._forward_output, process, screen))
            tasks.start_soon(run, self._monitor)
        if isinstance(events[0], LabError):
            raise events[0]
        return events[0]

    async def _forward_input(self, process: Process) -> HumanPeriodEnd | None:
        """Send what is typed into the lab, until the terminal is closed."""
        while True:
            try:
                if self._window != self._terminal.size:
                    self._window = self._terminal.size
                    await _send(process, b"w", b"%d %d" % self._window)
                typed = await self._terminal.read()
                if not typed:
                    return "disconnected"
                self._typed = True
                await _send(process, b"i", typed)
            except LabError:
                return None  # the process has ended; `_forward_output` knows how

    async def _forward_output(self, process: Process, screen: OutputBuffer) -> HumanPeriodEnd:
        """Show what the shell prints and handle the person's commands, until one of them ends the period."""
        while True:
            while (frame := self._next_frame()) is not None:
                kind, content = frame
                if kind == b"x":
                    return "left"
                if kind == b"o":
                    screen.add(content)
                    await self._terminal.write(content)
                elif kind == b"r" and (reason := await self._handle_request(content)):
                    return reason
            # Code in the lab may send anything; an impossible frame counts as the end of the shell.
            if self._frame_end > _MAX_FRAME:
                return "ended"
            try:
                self._received += await process.receive_some(_CHUNK)
            except LabError:
                return "ended"

    @property
    def _frame_end(self) -> int:
        return 5 + int.from_bytes(self._received[1:5], "big")

    def _next_frame(self) -> tuple[bytes, bytes] | None:
        """Return the kind and content of the next complete frame from the lab."""
        end = self._frame_end
        if len(self._received) < end:
            return None
        kind, content, self._received = self._received[:1], self._received[5:end], self._received[end:]
        return kind, content

    async def _handle_request(self, content: bytes) -> HumanPeriodEnd | None:
        number, _, name = content.decode(errors="replace").partition(" ")
        if not number.isdecimal():
            return None
        self._pending_request = int(number)
        if name == "submit":
            return "submit"
        if name == "validate":
            return "validate"
        if name == "time-left":
            await self.answer(f"{format_duration(self._bench.clock.seconds_left)} left", 0)
        else:
            await self.answer(f"there is no command {name!r}", 2)
        return None

    async def _monitor(self) -> HumanPeriodEnd:
        """Poll the submission until it has changed and then stayed the same between two polls.

        Polling does not pause anything; only recording a change does.
        """
        snapshot_at = monotonic() + self._monitoring.snapshot
        while True:
            before, self._stamp = self._stamp, await self._bench.lab.change_stamp(self._monitoring.file)
            if self._stamp == before and self._stamp != self._recorded_stamp:
                self._recorded_stamp = self._stamp
                return "changed"
            if monotonic() > snapshot_at:
                return "snapshot"
            await anyio.sleep(self._monitoring.poll)


async def _send(process: Process, kind: bytes, content: bytes) -> None:
    """Send a frame whole, also if the work period ends meanwhile: what was typed is nowhere else any more."""
    with anyio.move_on_after(_SEND_TIMEOUT, shield=True):
        await process.send(kind + len(content).to_bytes(4, "big") + content)
