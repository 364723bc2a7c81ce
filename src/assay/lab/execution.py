"""Watch a started command until it ends: its output, its time, and its limits."""

import dataclasses
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
from anyio.abc import ByteReceiveStream

from assay.core.errors import LabError
from assay.lab.host.polling import over_limit, sample_resources, workspace_size
from assay.lab.host.slots import LabSlot
from assay.lab.interface import Completed, Ended, Limits, Output, ResourceSample
from assay.lab.sandboxes.base import KILLED, StartedCommand

_MAX_KEPT = 64 * 1024
_POLL_SECONDS = 0.3
_DRAIN_SECONDS = 1.0
_MIN_FREE_BYTES = 2**20


async def run_to_end(started: StartedCommand, slot: LabSlot, limits: Limits, seconds: float) -> Completed:
    """Wait until a command ends or exceeds its time or another limit, and kill everything it started."""
    running = RunningCommand(started, slot, limits)
    try:
        async with running.enforce_limits(), running.collect_output():
            with anyio.move_on_after(seconds):
                await started.process.wait()
            if started.process.returncode is None:
                await running.stop("time")
            await running.check_limits_once()
    finally:
        await running.close()
    return running.completed()


class RunningCommand:
    """A command that is running."""

    def __init__(self, started: StartedCommand, slot: LabSlot, limits: Limits) -> None:
        self.started = started
        self.stdout = OutputBuffer()
        self.stderr = OutputBuffer()
        self._slot = slot
        self._limits = limits
        self._stopped: Ended | None = None
        self._kill_failure: LabError | None = None
        self._began = time.monotonic()
        self._seconds = 0.0
        self._memory_kills = slot.group.memory_kills()
        self._polled = slot.volume is None or "memory" not in slot.group.enforced
        self._disk = limits.disk
        self._samples = ResourceSamples()

    @asynccontextmanager
    async def enforce_limits(self) -> AsyncIterator[None]:
        """Enforce the limits that the kernel does not, and kill the command at the end of the block."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch)
            try:
                yield
            finally:
                await self.end()
                tasks.cancel_scope.cancel()

    @asynccontextmanager
    async def collect_output(self) -> AsyncIterator[None]:
        """Collect the output of the command until all its processes have ended."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.collect, self.started.process.stdout, self.stdout)
            tasks.start_soon(self.collect, self.started.process.stderr, self.stderr)
            yield
            await self.end()
            # Every process that could print is dead, except with sandbox `none`.
            tasks.cancel_scope.deadline = anyio.current_time() + _DRAIN_SECONDS

    async def collect(self, stream: ByteReceiveStream | None, into: "OutputBuffer") -> None:
        """Collect one stream to its end, or stop the command if it prints too much."""
        assert stream is not None
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
            async for chunk in stream:
                into.add(chunk)
                if self.stdout.total + self.stderr.total > self._limits.output:
                    await self.stop("output")
                    return

    async def stop(self, reason: Ended) -> None:
        """Kill the command because of a limit; the first reason counts."""
        self._stopped = self._stopped or reason
        await self.end()

    async def end(self) -> None:
        """Kill the command and everything it started."""
        try:
            await self.started.end()
        except LabError as error:
            self._kill_failure = error  # raised by `completed`: here, a surrounding task group would wrap it
        self._seconds = self._seconds or time.monotonic() - self._began

    async def close(self) -> None:
        """Close the pipes to a command that has ended; one that cannot be killed is left to the kernel."""
        if self.started.process.returncode is None:
            return
        with anyio.CancelScope(shield=True):
            await self.started.process.aclose()

    async def check_limits_once(self) -> None:
        """Check the polled limits after a command that may have been too short for a poll."""
        if self._polled and (over := await self._exceeded()):
            await self.stop(over)

    def completed(self) -> Completed:
        """Return how the command ended; `LabError` if the sandbox itself failed."""
        if self._kill_failure:
            raise self._kill_failure
        code = self.started.code()
        ended = self._stopped
        if ended == "signal" and code not in (None, KILLED):
            ended = None  # it exited by itself before the signal arrived
        kills = self._slot.group.memory_kills() - self._memory_kills
        if ended is None and (kills > 0 or self.started.out_of_memory):
            ended = "memory"
        if ended in (None, "signal") and code in (None, KILLED) and self.started.expired:
            ended = "time"
        if _disk_is_full(self._slot.folder):
            raise LabError(f"the disk with {self._slot.folder} is full")
        if ended is None and code is None:
            raise self.started.failure(self.stderr.output().text)
        if ended is None and code != 0 and self._slot.volume is not None and self._slot.volume.full():
            ended = "disk"
        if ended is None:
            ended = "signal" if code is not None and 128 < code <= 128 + 64 else "exit"
        code = KILLED if code is None else code
        output = self.stdout.output(), self.stderr.output()
        return Completed(ended, code, *output, self._seconds, self._samples.kept)

    async def _watch(self) -> None:
        if self._slot.volume is None:
            # A command may still clean up a workspace that is too full already.
            used = await anyio.to_thread.run_sync(workspace_size, self._slot)
            self._disk = max(self._limits.disk, used)
        while True:
            if not self._polled:  # then sockets are all that is polled, and short commands need not wait for it
                await anyio.sleep(_POLL_SECONDS)
            before = time.monotonic()
            await self._sample(before - self._began)
            if over := await self._exceeded():
                await self.stop(over)
                return
            # Polling must not become the load: a workspace with many files is polled less often.
            await anyio.sleep(max(_POLL_SECONDS, 5 * (time.monotonic() - before)))

    async def _sample(self, seconds: float) -> None:
        root = self.started.root
        if root is not None and not self.started.paused and self._samples.is_due(seconds):
            self._samples.add(await anyio.to_thread.run_sync(sample_resources, self._slot, root, seconds))

    async def _exceeded(self) -> Ended | None:
        limits = dataclasses.replace(self._limits, disk=self._disk)
        return await anyio.to_thread.run_sync(over_limit, self._slot, limits, self.started.root)


def _disk_is_full(folder: Path) -> bool:
    """Whether the machine's own disk is full, so that writes of the lab may be lost."""
    filesystem = os.statvfs(folder)
    left = filesystem.f_bfree if os.geteuid() == 0 else filesystem.f_bavail
    return left * filesystem.f_frsize < _MIN_FREE_BYTES


class ResourceSamples:
    """What a command used over time, in a bounded number of samples: the longer it runs, the rarer they are."""

    def __init__(self, interval: float = 1.0, max_samples: int = 100) -> None:
        self._interval, self._max = interval, max_samples
        self._kept: list[ResourceSample] = []

    @property
    def kept(self) -> tuple[ResourceSample, ...]:
        return tuple(self._kept)

    def is_due(self, seconds: float) -> bool:
        """Whether it is time for another sample, so many seconds after the start of the command."""
        return not self._kept or seconds >= self._kept[-1].seconds + self._interval

    def add(self, sample: ResourceSample) -> None:
        """Keep a sample; where there are too many, drop every second one."""
        self._kept.append(sample)
        if len(self._kept) >= self._max:
            self._kept = self._kept[::2]
            self._interval *= 2


class OutputBuffer:
    """The start and the end of a stream, in bounded memory."""

    def __init__(self) -> None:
        self.total = 0
        self._head = bytearray()
        self._tail = bytearray()

    def add(self, chunk: bytes) -> None:
        """Append bytes."""
        self.total += len(chunk)
        room = _MAX_KEPT - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[room:]
        if len(self._tail) > 4 * _MAX_KEPT:
            del self._tail[:-_MAX_KEPT]

    def output(self) -> Output:
        """Return the collected output."""
        return Output(bytes(self._head), bytes(self._tail[-_MAX_KEPT:]), self.total)
