"""A lab that one call opens and another closes, as the sandbox interfaces of other harnesses require."""

import asyncio

import anyio

from assay.core.home import Home
from assay.lab.interface import Lab, SandboxName, Setup
from assay.lab.lab import open_lab


class HeldLab:
    """A lab that one call opens and another closes.

    `open_lab` is a context manager, which must exit in the task and cancel scope that entered it, but other harnesses
    enter and exit scopes of their own between their two calls. So a separate task keeps the lab open. It belongs to
    their event loop, whose thread outlives every lab; a lab that is not closed is closed when the loop ends.
    """

    def __init__(self, lab: Lab, closing: asyncio.Event, keeper: asyncio.Task[None]) -> None:
        self.lab = lab
        self._closing = closing
        self._keeper = keeper

    @classmethod
    async def open(cls, home: Home, setup: Setup, sandbox: SandboxName) -> "HeldLab":
        """Open a lab; it stays open until `close`."""
        opened: asyncio.Future[Lab] = asyncio.get_running_loop().create_future()
        closing = asyncio.Event()

        async def keep_open() -> None:
            try:
                async with open_lab(home, setup, sandbox) as lab:
                    opened.set_result(lab)
                    await closing.wait()
            except Exception as error:
                if opened.done():
                    raise
                opened.set_exception(error)

        keeper = asyncio.create_task(keep_open())
        try:
            return cls(await asyncio.shield(opened), closing, keeper)
        except BaseException:
            closing.set()
            with anyio.CancelScope(shield=True):
                await asyncio.wait([keeper])
            raise

    async def close(self) -> None:
        """Close the lab, and return when it is gone."""
        self._closing.set()
        with anyio.CancelScope(shield=True):
            await asyncio.wait([self._keeper])
        if not self._keeper.cancelled():
            self._keeper.result()
