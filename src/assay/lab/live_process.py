"""A long-lived process in a lab: a Python session, an external agent, or a person's shell."""

import anyio
from anyio.streams.buffered import BufferedByteReceiveStream

from assay.core.errors import LabError
from assay.lab.execution import RunningCommand
from assay.lab.interface import Completed

_LAST_MOMENT = 2.0
"""Seconds that a process without output has to end by itself, so that its own exit code is known."""


class LiveProcess:
    """A process that the harness exchanges data with until it ends or is killed."""

    def __init__(self, running: RunningCommand) -> None:
        stdout = running.started.process.stdout
        assert stdout is not None
        self._running = running
        self._stdout = BufferedByteReceiveStream(stdout)
        self._leaving = anyio.Event()
        self._ended = anyio.Event()
        self._is_silent = False

    async def serve(self) -> None:
        """Enforce the limits until the process ends or `kill` is called; runs as a task of the lab."""
        try:
            async with self._running.enforce_limits(), anyio.create_task_group() as tasks:
                tasks.start_soon(self._running.collect, self._running.started.process.stderr, self._running.stderr)
                tasks.start_soon(self._notice_end)
                await self._leaving.wait()
                await self._running.end()
        finally:
            self._ended.set()

    async def send(self, data: bytes) -> None:
        """Write to its standard input."""
        stdin = self._running.started.process.stdin
        assert stdin is not None
        try:
            await stdin.send(data)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError) as error:
            raise self._ended_error() from error

    async def receive(self, size: int) -> bytes:
        """Read exactly `size` bytes from its standard output; `LabError` if it ends first."""
        try:
            return await self._stdout.receive_exactly(size)
        except (anyio.IncompleteRead, anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
            self._is_silent = True
            raise self._ended_error() from error

    async def receive_some(self, max_bytes: int) -> bytes:
        """Read its next output, at least one byte and at most `max_bytes`; `LabError` if it ends first."""
        try:
            return await self._stdout.receive(max_bytes)
        except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
            self._is_silent = True
            raise self._ended_error() from error

    async def pause(self) -> None:
        """Freeze it and all its descendants, so that the workspace can be accessed."""
        await self._running.started.pause()

    async def unpause(self) -> None:
        """Let it continue after a pause."""
        await self._running.started.unpause()

    async def kill(self) -> Completed:
        """Kill it and everything it started; output that was not received is in the result."""
        if self._is_silent:  # it has closed its output, and is most likely about to end by itself
            with anyio.move_on_after(_LAST_MOMENT):
                await self._running.started.process.wait()
        if self._running.started.process.returncode is None:
            await self._running.stop("signal")
        self._leaving.set()
        await self._ended.wait()
        self._running.stdout.add(self._stdout.buffer)
        await self._running.collect(self._running.started.process.stdout, self._running.stdout)
        await self.close()
        return self._running.completed()

    async def close(self) -> None:
        """Close the pipes to it once it has ended."""
        await self._running.close()

    async def _notice_end(self) -> None:
        await self._running.started.process.wait()
        self._leaving.set()

    def _ended_error(self) -> LabError:
        stderr = self._running.stderr.output().text.strip()
        return LabError(f"the process in the lab has ended{f': {stderr[-2000:]}' if stderr else ''}")
