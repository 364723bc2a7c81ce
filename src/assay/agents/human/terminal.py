"""The terminal of a person who works in a lab, in raw mode: every key and every byte is passed on unchanged."""

import fcntl
import os
import struct
import termios
import tty
from pathlib import Path

import anyio

from assay.core.errors import LabError

_CHUNK = 65_536


class RawTerminal:
    """A terminal in raw mode until `close`; `closed` says whether its other end has disconnected."""

    def __init__(self, terminal: Path) -> None:
        try:
            self._handle = os.open(terminal, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
            self._original_mode = termios.tcgetattr(self._handle)
        except (OSError, termios.error) as error:
            raise LabError(f"cannot use the terminal {terminal} ({error}); start the run from a terminal") from None
        tty.setraw(self._handle)
        self.closed = False

    @property
    def size(self) -> tuple[int, int]:
        """Its rows and columns; 24 by 80 if it does not report them."""
        rows, columns, _, _ = struct.unpack("HHHH", fcntl.ioctl(self._handle, termios.TIOCGWINSZ, bytes(8)))
        return rows or 24, columns or 80

    async def read(self) -> bytes:
        """Return what is typed next; empty once the terminal is closed."""
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
        """Write bytes to the terminal."""
        while content:
            try:
                content = content[os.write(self._handle, content) :]
            except BlockingIOError:
                await anyio.wait_writable(self._handle)
            except OSError:
                return  # the terminal is gone, which `read` reports

    async def show(self, text: str) -> None:
        """Show lines of our own."""
        await self.write(f"\n{text}\n".replace("\n", "\r\n").encode())

    def close(self) -> None:
        """Restore the terminal."""
        try:
            termios.tcsetattr(self._handle, termios.TCSADRAIN, self._original_mode)
        except termios.error:
            pass  # the terminal is gone
        finally:
            os.close(self._handle)
