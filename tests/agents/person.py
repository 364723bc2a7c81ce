"""A scripted person at a real terminal, for tests: reads the screen and types."""

import os
import select
import tty
from pathlib import Path

from anyio import to_thread

PATIENCE = 300.0


class Person:
    """Uses one end of a pseudo-terminal, a new one or `master`; `terminal` is the path of the other end."""

    def __init__(self, master=None):
        self._other = -1
        if master is None:
            master, self._other = os.openpty()
            tty.setraw(self._other)
            self.terminal = Path(os.ttyname(self._other))
        self.master = master
        self.screen = ""
        self._seen = 0

    async def sees(self, text):
        """Wait until the screen shows `text` after all that was seen before."""
        await to_thread.run_sync(self._wait_for, text, abandon_on_cancel=True)

    async def types(self, line):
        """Type a line and press the return key."""
        await self.presses(line.encode() + b"\r")

    async def presses(self, keys):
        """Press some keys."""
        await to_thread.run_sync(os.write, self.master, keys)

    async def does(self, line, *, then):
        """Type a line at the prompt, and wait for what it leads to."""
        await self.sees("$ ")
        await self.types(line)
        await self.sees(then)

    def close(self):
        """Close the terminal."""
        for handle in (self.master, self._other):
            if handle >= 0:
                os.close(handle)
        self.master = self._other = -1

    def _wait_for(self, text):
        while text not in self.screen[self._seen :]:
            ready, _, _ = select.select([self.master], [], [], PATIENCE)
            assert ready, f"waiting for {text!r}, the screen shows:\n{self.screen}"
            try:
                self.screen += os.read(self.master, 65_536).decode(errors="replace")
            except OSError as error:
                reason = f"the terminal closed before it showed {text!r}; the screen shows:\n{self.screen}"
                raise OSError(error.errno, reason) from None
        self._seen = self.screen.index(text, self._seen) + len(text)
