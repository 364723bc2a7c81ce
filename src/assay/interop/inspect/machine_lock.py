"""A lock on the machine: commands share it, a timing measurement has it alone."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from anyio.lowlevel import RunVar


class MachineLock:
    """Keeps commands from running during a timing measurement, within one process."""

    def __init__(self) -> None:
        self._changed = anyio.Condition()
        self._commands = 0
        self._waiting = 0
        self._measuring = False

    @asynccontextmanager
    async def shared(self) -> AsyncIterator[None]:
        """Hold the lock for a command: with others, but not while a measurement runs or waits."""
        async with self._changed:
            while self._measuring or self._waiting:
                await self._changed.wait()
            self._commands += 1
        try:
            yield
        finally:
            with anyio.CancelScope(shield=True):
                async with self._changed:
                    self._commands -= 1
                    self._changed.notify_all()

    @asynccontextmanager
    async def exclusive(self) -> AsyncIterator[None]:
        """Hold the lock for a measurement: wait until running commands have ended, and let no others start."""
        async with self._changed:
            self._waiting += 1
            try:
                while self._measuring or self._commands:
                    await self._changed.wait()
                self._measuring = True
            finally:
                self._waiting -= 1
                self._changed.notify_all()
        try:
            yield
        finally:
            with anyio.CancelScope(shield=True):
                async with self._changed:
                    self._measuring = False
                    self._changed.notify_all()


_LOCK: RunVar[MachineLock] = RunVar("machine_lock")


def machine_lock() -> MachineLock:
    """Return the lock of the current event loop: all samples of an evaluation share it."""
    try:
        return _LOCK.get()
    except LookupError:
        lock = MachineLock()
        _LOCK.set(lock)
        return lock
