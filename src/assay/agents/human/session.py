"""A person's place in a lab: a shell there, a terminal here, and what goes between them."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from functools import partial
from importlib.resources import files
from time import monotonic
from typing import Any, Literal

import anyio

from assay.agents.human.prompt import Screen
from assay.agents.workbench import Workbench
from assay.core.errors import LabError
from assay.core.quantities import format_duration
from assay.lab.execution import OutputBuffer
from assay.lab.interface import Ended, Process

Why = Literal["changed", "kept", "validate", "submit", "left", "gone", "ended", "time"]
"""Why a sitting ended: the submission changed, it was time to keep the workspace, the person asked for a check,
submitted, left the shell, closed the terminal, everything in the lab came to an end, or time was up."""
AGAIN = "This is a new shell: your files are still there, but nothing is running any more."
OVER = ("submit", "left", "gone", "ended", "time")

_CHUNK = 65_536
_LARGEST_FRAME = 10**6


@dataclass(frozen=True)
class WorkPeriod:
    """What came of a stretch of work: why it ended, how everything in the lab did if it did, and what was shown."""

    why: Why
    ended: Ended | None
    shown: str


@dataclass(frozen=True)
class Watch:
    """Which file is looked at and how often, and how often the whole workspace is kept, in seconds."""

    file: str
    look: float
    keep: float


class Desk:
    """Where a person works. Between sittings everything in the lab holds still, so the workspace can be kept."""

    def __init__(self, bench: Workbench, screen: Screen, watch: Watch, greeting: str) -> None:
        self._bench = bench
        self._screen = screen
        self._watch = watch
        self._greeting = greeting
        self._process: Process | None = None
        self._heard = b""
        self._asking: int | None = None
        self._window = (0, 0)
        self._typed = False
        self._stamp: tuple[int, ...] | None = None
        self._taken: tuple[int, ...] | None = None

    async def sit(self, *, again: bool = False) -> dict[str, Any]:
        """Let the person work until something is worth writing down; the lab is at rest afterwards.

        A person who has worked before is told when the shell is not the one of before.
        """
        process, shown = self._process or await self._start(again), OutputBuffer()
        why: Why = "time"
        try:
            await process.unpause()
            with anyio.move_on_after(self._bench.clock.seconds_left):
                why = await self._until_something_happens(process, shown)
            ended = None
            if why in OVER:
                ended = await self._end(process, why)
            else:
                await process.pause()
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self.leave()
            raise
        return asdict(WorkPeriod(why, ended, shown.output().text))

    async def answer(self, text: str, code: int) -> None:
        """Answer the command that the person waits for, if it still waits."""
        if self._process is not None and self._asking is not None:
            told = json.dumps({"text": text, "code": code})
            number, self._asking = self._asking, None
            await _send(self._process, b"a", f"{number} {told}".encode())

    async def leave(self) -> None:
        """End what runs in the lab."""
        if self._process is not None:
            process, self._process = self._process, None
            await process.kill()

    async def _start(self, again: bool) -> Process:
        """A fresh shell, and words that say so."""
        await self._screen.say("\n\n".join(filter(None, [self._greeting, AGAIN if again else ""])))
        self._greeting = ""
        self._stamp = self._taken = await self._bench.lab.change_stamp(self._watch.file)
        source = files("assay.agents").joinpath("scripts", "desk.py").read_text()
        variables = await self._bench.tell_budget(self._bench.clock.seconds_left)
        self._process = await self._bench.lab.start(["python", "-u", "-c", source], variables=variables)
        self._heard, self._asking, self._window, self._typed = b"", None, (0, 0), False
        return self._process

    async def _end(self, process: Process, why: Why) -> Ended:
        """End everything in the lab, and say how it ended; a shell that never saw a key pressed is the lab's fault."""
        self._process = None
        completed = await process.kill()
        if why == "ended" and not self._typed:
            raise LabError(f"no shell can be had in the lab: {completed.stderr.text.strip()[-2000:]}")
        return completed.ended

    async def _until_something_happens(self, process: Process, shown: OutputBuffer) -> Why:
        """Type, show and look side by side; whichever finds something first says what it is."""
        found: list[Why | LabError] = []
        async with anyio.create_task_group() as tasks:

            async def until(part: Callable[[], Awaitable[Why | None]]) -> None:
                try:
                    why: Why | LabError | None = await part()
                except LabError as fault:
                    why = fault
                if why is not None:
                    found.append(why)
                    tasks.cancel_scope.cancel()

            tasks.start_soon(until, partial(self._type, process))
            tasks.start_soon(until, partial(self._show, process, shown))
            tasks.start_soon(until, self._look)
        if isinstance(found[0], LabError):
            raise found[0]
        return found[0]

    async def _type(self, process: Process) -> Why | None:
        """Carry what is typed into the lab, until the terminal is closed."""
        while True:
            try:
                if self._window != self._screen.size:
                    self._window = self._screen.size
                    await _send(process, b"w", b"%d %d" % self._window)
                if not (typed := await self._screen.read()):
                    return "gone"
                self._typed = True
                await _send(process, b"i", typed)
            except LabError:
                return None  # it has ended; whoever listens to it knows how

    async def _show(self, process: Process, shown: OutputBuffer) -> Why:
        """Show what the shell prints and hear what the person's commands ask, until one of them ends the sitting."""
        while True:
            while (frame := self._frame()) is not None:
                kind, content = frame
                if kind == b"x":
                    return "left"
                if kind == b"o":
                    shown.add(content)
                    await self._screen.write(content)
                elif kind == b"r" and (why := await self._asked(content)):
                    return why
            # What runs in the lab may send anything: a frame that cannot be one counts as the end of the shell.
            if self._frame_end > _LARGEST_FRAME:
                return "ended"
            try:
                self._heard += await process.receive_some(_CHUNK)
            except LabError:
                return "ended"

    @property
    def _frame_end(self) -> int:
        return 5 + int.from_bytes(self._heard[1:5], "big")

    def _frame(self) -> tuple[bytes, bytes] | None:
        """The next whole frame from the lab."""
        if len(self._heard) < (end := self._frame_end):
            return None
        kind, content, self._heard = self._heard[:1], self._heard[5:end], self._heard[end:]
        return kind, content

    async def _asked(self, content: bytes) -> Why | None:
        number, _, name = content.decode(errors="replace").partition(" ")
        if not number.isdecimal():
            return None
        self._asking = int(number)
        if name == "submit":
            return "submit"
        if name == "validate":
            return "validate"
        left = (
            f"{format_duration(self._bench.clock.seconds_left)} left"
            if name == "time-left"
            else f"there is no command {name!r}"
        )
        await self.answer(left, 0 if name == "time-left" else 2)
        return None

    async def _look(self) -> Why:
        """Look now and then at the submission, until it has changed and then stayed as it is from one look to the next.

        Looking holds nothing still; only what follows from it does.
        """
        keep_at = monotonic() + self._watch.keep
        while True:
            before, self._stamp = self._stamp, await self._bench.lab.change_stamp(self._watch.file)
            if self._stamp == before and self._stamp != self._taken:
                self._taken = self._stamp
                return "changed"
            if monotonic() > keep_at:
                return "kept"
            await anyio.sleep(self._watch.look)


async def _send(process: Process, kind: bytes, content: bytes) -> None:
    await process.send(kind + len(content).to_bytes(4, "big") + content)
