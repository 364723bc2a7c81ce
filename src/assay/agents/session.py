"""A Python session in the lab that keeps its state from command to command, and holds still in between."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

import anyio

from assay.core.disk import random_token
from assay.core.errors import LabError
from assay.lab.execution import OutputBuffer
from assay.lab.interface import Ended, Lab, Process

LONGEST_OUTPUT = 20 * 10**6
_CHUNK = 65_536


@dataclass(frozen=True)
class Said:
    """What a command printed, how the session `ended` if it did, and whether an earlier one was `lost` before it."""

    output: str
    seconds: float
    ended: Ended | None = None
    lost: bool = False


class Session:
    """A Python process in the lab. Nothing of it moves except while a command runs, so the workspace is at rest."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._held = b""

    @classmethod
    async def start(cls, lab: Lab, variables: Mapping[str, str]) -> "Session":
        """Start a fresh one."""
        source = files("assay.agents").joinpath("scripts", "session.py").read_text("utf-8")
        return cls(await lab.start(["python", "-u", "-c", source], variables=variables))

    async def execute(self, command: str, seconds: float) -> Said:
        """Run a command; one that takes longer than `seconds` or prints without end takes the session with it."""
        began = time.monotonic()
        gathered = OutputBuffer()
        ended: Ended | None = None
        try:
            await self._process.unpause()
            with anyio.move_on_after(seconds) as limit:
                if not await self._listen(command, gathered):
                    ended = "output"
            if limit.cancelled_caught:
                ended = "time"
            if ended is None:
                await self._process.pause()
        except LabError:
            # It is gone, or cannot be held still; how it ended is told by what is left of it.
            ended = "exit"
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self._process.kill()
            raise
        if ended is not None:
            left = await self._process.kill()
            gathered.add(self._held + left.stdout.head + left.stdout.tail)
            ended = left.ended if ended == "exit" else ended
        return Said(gathered.output().text, round(time.monotonic() - began, 3), ended)

    async def _listen(self, command: str, gathered: OutputBuffer) -> bool:
        """Take in what the command prints up to its mark; False if that is too much."""
        mark = random_token().encode()
        await self._process.send(json.dumps({"command": command, "mark": mark.decode()}).encode() + b"\n")
        while gathered.total <= LONGEST_OUTPUT:
            self._held += await self._process.receive_some(_CHUNK)
            before, found, after = self._held.partition(mark)
            # The end of what came may be the beginning of the mark.
            sure = before if found else self._held[: max(0, len(self._held) - len(mark) + 1)]
            gathered.add(sure)
            self._held = after if found else self._held[len(sure) :]
            if found:
                return True
        return False
