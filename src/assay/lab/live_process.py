"""A long-lived process in a lab: a notebook-like session, somebody else's agent, a person at a shell."""

import anyio
from anyio.streams.buffered import BufferedByteReceiveStream

from assay.core.errors import LabError
from assay.lab.execution import RunningCommand
from assay.lab.interface import Completed


class LiveProcess:
    """A process that is spoken to over its standard input and output until it ends or is ended."""

    def __init__(self, running: RunningCommand) -> None:
        stdout = running.started.process.stdout
        assert stdout is not None
        self._running = running
        self._stdout = BufferedByteReceiveStream(stdout)
        self._leave = anyio.Event()
        self._over = anyio.Event()

    async def serve(self) -> None:
        """Hold it to its limits until it ends or is to be ended; runs beside whoever speaks to it."""
        try:
            async with self._running.watched(), anyio.create_task_group() as tasks:
                tasks.start_soon(self._running.gather, self._running.started.process.stderr, self._running.stderr)
                tasks.start_soon(self._notice_end)
                await self._leave.wait()
                await self._running.end()
        finally:
            self._over.set()

    async def send(self, data: bytes) -> None:
        """Write to its standard input."""
        stdin = self._running.started.process.stdin
        assert stdin is not None
        try:
            await stdin.send(data)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError) as error:
            raise self._gone() from error

    async def receive(self, size: int) -> bytes:
        """Read exactly `size` bytes of its standard output; `LabError` if it ends first."""
        try:
            return await self._stdout.receive_exactly(size)
        except (anyio.IncompleteRead, anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
            raise self._gone() from error

    async def receive_some(self, max_bytes: int) -> bytes:
        """Read what it printed next, at least one byte and at most `max_bytes`; `LabError` if it ends first."""
        try:
            return await self._stdout.receive(max_bytes)
        except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
            raise self._gone() from error

    async def pause(self) -> None:
        """Hold it and everything it started still, so that the workspace can be read, written and kept meanwhile."""
        await self._running.started.pause()

    async def unpause(self) -> None:
        """Let it go on after a pause."""
        await self._running.started.unpause()

    async def kill(self) -> Completed:
        """End it and everything it started; what it printed and nobody received is in the result."""
        if self._running.started.process.returncode is None:
            await self._running.stop("signal")
        self._leave.set()
        await self._over.wait()
        self._running.stdout.add(self._stdout.buffer)
        await self._running.gather(self._running.started.process.stdout, self._running.stdout)
        await self.close()
        return self._running.completed()

    async def close(self) -> None:
        """Let go of it, once it is over."""
        await self._running.close()

    async def _notice_end(self) -> None:
        await self._running.started.process.wait()
        self._leave.set()

    def _gone(self) -> LabError:
        said = self._running.stderr.output().text.strip()
        return LabError(f"the process in the lab has ended{f': {said[-2000:]}' if said else ''}")
