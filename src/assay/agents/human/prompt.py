"""The terminal of the person who works in a lab: every key as it is pressed, every byte as it is shown."""

import fcntl
import os
import struct
import termios
import tty
from pathlib import Path

import anyio

from assay.core.errors import LabError

_CHUNK = 65_536


class Screen:
    """A terminal in raw mode; `close` makes it what it was. It is `closed` when nobody is at its other end any more."""

    def __init__(self, terminal: Path) -> None:
        try:
            self._handle = os.open(terminal, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
            self._before = termios.tcgetattr(self._handle)
        except (OSError, termios.error) as error:
            raise LabError(f"nobody sits at {terminal} ({error}); start the run from a terminal") from None
        tty.setraw(self._handle)
        self.closed = False

    @property
    def size(self) -> tuple[int, int]:
        """Its rows and columns; the usual ones where it does not say."""
        rows, columns, _, _ = struct.unpack("HHHH", fcntl.ioctl(self._handle, termios.TIOCGWINSZ, bytes(8)))
        return rows or 24, columns or 80

    async def read(self) -> bytes:
        """What is typed next; nothing once the terminal is closed."""
        while True:
            await anyio.wait_readable(self._handle)
            try:
                typed = os.read(self._handle, _CHUNK)
            except BlockingIOError:
                continue
            except OSError:
                typed = b""
            self.closed = not typed
            return typed

    async def write(self, content: bytes) -> None:
        """Show something."""
        while content:
            try:
                content = content[os.write(self._handle, content) :]
            except BlockingIOError:
                await anyio.wait_writable(self._handle)
            except OSError:
                return  # the terminal is gone, which whoever reads from it notices

    async def say(self, text: str) -> None:
        """Show lines of our own."""
        await self.write(f"\n{text}\n".replace("\n", "\r\n").encode())

    def close(self) -> None:
        """Make the terminal what it was."""
        try:
            termios.tcsetattr(self._handle, termios.TCSADRAIN, self._before)
        except termios.error:
            pass  # it is gone
        finally:
            os.close(self._handle)
