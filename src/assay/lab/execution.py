"""A started command from its first byte to its end: what it prints, how long it takes, what it uses up."""

import dataclasses
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
from anyio.abc import ByteReceiveStream

from assay.core.errors import LabError
from assay.lab.host.polling import disk_used, over_limit
from assay.lab.host.slots import LabSlot
from assay.lab.interface import Completed, Ended, Limits, Output
from assay.lab.sandboxes.base import KILLED, Started

_KEPT = 64 * 1024
_POLL_SECONDS = 0.3
_LAST_WORDS_SECONDS = 1.0
_NEXT_TO_NOTHING = 2**20


async def run_to_end(started: Started, slot: LabSlot, limits: Limits, seconds: float) -> Completed:
    """Watch a command until it ends, or its time or another limit does, and leave nothing of it behind."""
    running = RunningCommand(started, slot, limits)
    try:
        async with running.watched(), running.gathering():
            with anyio.move_on_after(seconds):
                await started.process.wait()
            if started.process.returncode is None:
                await running.stop("time")
            await running.look_once_more()
    finally:
        await running.close()
    return running.completed()


class RunningCommand:
    """A command while it runs."""

    def __init__(self, started: Started, slot: LabSlot, limits: Limits) -> None:
        self.started = started
        self.stdout = OutputBuffer()
        self.stderr = OutputBuffer()
        self._slot = slot
        self._limits = limits
        self._stopped: Ended | None = None
        self._undying: LabError | None = None
        self._began = time.monotonic()
        self._seconds = 0.0
        self._memory_kills = slot.group.memory_kills()
        self._polled = slot.volume is None or "memory" not in slot.group.enforced
        self._disk = limits.disk

    @asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        """Hold the command to the limits the kernel does not hold, and end it with the block."""
        async with anyio.create_task_group() as tasks:
            if self._polled:
                tasks.start_soon(self._watch)
            try:
                yield
            finally:
                await self.end()
                tasks.cancel_scope.cancel()

    @asynccontextmanager
    async def gathering(self) -> AsyncIterator[None]:
        """Take in what the command prints until all of it is over."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.gather, self.started.process.stdout, self.stdout)
            tasks.start_soon(self.gather, self.started.process.stderr, self.stderr)
            yield
            await self.end()
            # Everything that could print is dead, except in a sandbox that seals nothing.
            tasks.cancel_scope.deadline = anyio.current_time() + _LAST_WORDS_SECONDS

    async def gather(self, stream: ByteReceiveStream | None, into: "OutputBuffer") -> None:
        """Take in one stream to its end, or stop the command when it prints too much."""
        assert stream is not None
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
            async for chunk in stream:
                into.add(chunk)
                if self.stdout.total + self.stderr.total > self._limits.output:
                    await self.stop("output")
                    return

    async def stop(self, why: Ended) -> None:
        """End the command because of a limit; the first reason is the one told."""
        self._stopped = self._stopped or why
        await self.end()

    async def end(self) -> None:
        """End the command and everything it started."""
        try:
            await self.started.end()
        except LabError as error:
            self._undying = error  # told with how it ended: here, whoever else watches it would drown it out
        self._seconds = self._seconds or time.monotonic() - self._began

    async def close(self) -> None:
        """Let go of the pipes to it, once it is over; one that does not die is left to the kernel."""
        if self.started.process.returncode is None:
            return
        with anyio.CancelScope(shield=True):
            await self.started.process.aclose()

    async def look_once_more(self) -> None:
        """Notice what a short command used up between two looks."""
        if self._polled and (over := await self._look()):
            await self.stop(over)

    def completed(self) -> Completed:
        """How it ended; `LabError` if it is the sandbox that failed."""
        if self._undying:
            raise self._undying
        code = self.started.code()
        ended = self._stopped
        if ended == "signal" and code not in (None, KILLED):
            ended = None  # it ended by itself before the signal came
        kills = self._slot.group.memory_kills() - self._memory_kills
        if ended is None and (kills > 0 or self.started.out_of_memory):
            ended = "memory"
        if _full(self._slot.folder):
            raise LabError(f"the disk that {self._slot.folder} is on is full")
        if ended is None and code is None:
            raise self.started.failure(self.stderr.output().text)
        if ended is None and code != 0 and self._slot.volume is not None and self._slot.volume.full():
            ended = "disk"
        if ended is None:
            ended = "signal" if code is not None and 128 < code <= 128 + 64 else "exit"
        code = KILLED if code is None else code
        return Completed(ended, code, self.stdout.output(), self.stderr.output(), self._seconds)

    async def _watch(self) -> None:
        if self._slot.volume is None:
            # In a workspace that is too full already, a command may still clean up.
            used = await anyio.to_thread.run_sync(disk_used, self._slot.workspace)
            self._disk = max(self._limits.disk, used)
        while True:
            before = time.monotonic()
            if over := await self._look():
                await self.stop(over)
                return
            # Looking must never become the load: a workspace with many files is looked at less often.
            await anyio.sleep(max(_POLL_SECONDS, 5 * (time.monotonic() - before)))

    async def _look(self) -> Ended | None:
        limits = dataclasses.replace(self._limits, disk=self._disk)
        return await anyio.to_thread.run_sync(over_limit, self._slot, limits, self.started.root)


def _full(folder: Path) -> bool:
    """Whether the machine's own disk is: then what code in a lab wrote may be lost, whatever it was told."""
    found = os.statvfs(folder)
    left = found.f_bfree if os.geteuid() == 0 else found.f_bavail
    return left * found.f_frsize < _NEXT_TO_NOTHING


class OutputBuffer:
    """The beginning and the end of a stream, in bounded memory."""

    def __init__(self) -> None:
        self.total = 0
        self._head = bytearray()
        self._tail = bytearray()

    def add(self, chunk: bytes) -> None:
        """Take in the next bytes."""
        self.total += len(chunk)
        room = _KEPT - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[room:]
        if len(self._tail) > 4 * _KEPT:
            del self._tail[:-_KEPT]

    def output(self) -> Output:
        """What is kept."""
        return Output(bytes(self._head), bytes(self._tail[-_KEPT:]), self.total)
