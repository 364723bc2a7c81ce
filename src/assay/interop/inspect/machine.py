"""Who uses the machine: commands side by side, or one measurement of time alone."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from anyio.lowlevel import RunVar


class Machine:
    """Keeps commands and measurements of time apart, within one process."""

    def __init__(self) -> None:
        self._changed = anyio.Condition()
        self._commands = 0
        self._waiting = 0
        self._measuring = False

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        """Run a command: beside others, but not while anything is measured or waits to be."""
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
    async def alone(self) -> AsyncIterator[None]:
        """Measure: wait until the commands that run have ended, and let none begin meanwhile."""
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


_MACHINE: RunVar[Machine] = RunVar("machine")


def machine() -> Machine:
    """The machine of the event loop that runs now: all samples of an evaluation share it."""
    try:
        return _MACHINE.get()
    except LookupError:
        _MACHINE.set(made := Machine())
        return made
