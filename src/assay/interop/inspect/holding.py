"""Labs that one call opens and another closes, as Inspect wants its sandboxes."""

import asyncio

import anyio

from assay.core.home import Home
from assay.lab import Lab, SandboxName, Setup, open_lab


class HeldLab:
    """An open lab.

    `open_lab` is a block, which must end in the task and the cancel scope that it began in, but Inspect opens and ends
    scopes of its own between its two calls. So a task of its own holds the block open. It belongs to Inspect's event
    loop, whose thread outlives every lab; a lab that nobody closes is closed when the loop ends.
    """

    def __init__(self, lab: Lab, closing: asyncio.Event, holder: asyncio.Task[None]) -> None:
        self.lab = lab
        self._closing = closing
        self._holder = holder

    @classmethod
    async def open(cls, home: Home, setup: Setup, sandbox: SandboxName) -> "HeldLab":
        """Open a lab; it stays open until `close`."""
        opened: asyncio.Future[Lab] = asyncio.get_running_loop().create_future()
        closing = asyncio.Event()

        async def hold() -> None:
            try:
                async with open_lab(home, setup, sandbox) as lab:
                    opened.set_result(lab)
                    await closing.wait()
            except Exception as error:
                if opened.done():
                    raise
                opened.set_exception(error)

        holder = asyncio.create_task(hold())
        try:
            return cls(await asyncio.shield(opened), closing, holder)
        except BaseException:
            closing.set()
            with anyio.CancelScope(shield=True):
                await asyncio.wait([holder])
            raise

    async def close(self) -> None:
        """Close the lab, and return when nothing of it is left."""
        self._closing.set()
        with anyio.CancelScope(shield=True):
            await asyncio.wait([self._holder])
        if not self._holder.cancelled():
            self._holder.result()
