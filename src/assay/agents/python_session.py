"""A Python session in the lab that keeps its state from call to call, and is paused in between."""

import json
import time
from collections.abc import Mapping
from importlib.resources import files

import anyio

from assay.core.disk import random_token
from assay.core.errors import LabError
from assay.lab.execution import OutputBuffer
from assay.lab.interface import Ended, Lab, Process
from assay.records.events import PythonResult

MAX_OUTPUT = 20 * 10**6
_CHUNK = 65_536


class PythonSession:
    """A Python process in the lab. It runs only while code is executed, so the workspace does not change in between."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._received = b""

    @classmethod
    async def start(cls, lab: Lab, variables: Mapping[str, str]) -> "PythonSession":
        """Start a new session."""
        source = files("assay.agents").joinpath("scripts", "session.py").read_text("utf-8")
        return cls(await lab.start(["python", "-u", "-c", source], variables=variables))

    async def execute(self, code: str, seconds: float) -> PythonResult:
        """Run code; the session ends if that takes longer than `seconds` or prints too much."""
        began = time.monotonic()
        output = OutputBuffer()
        ended: Ended | None = None
        try:
            await self._process.unpause()
            with anyio.move_on_after(seconds) as limit:
                if not await self._collect_output(code, output):
                    ended = "output"
            if limit.cancelled_caught:
                ended = "time"
            if ended is None:
                await self._process.pause()
        except LabError:
            # It has ended or cannot be paused; killing it returns how it ended.
            ended = "exit"
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self._process.kill()
            raise
        if ended is not None:
            completed = await self._process.kill()
            output.add(self._received + completed.stdout.head + completed.stdout.tail)
            ended = completed.ended if ended == "exit" else ended
        return PythonResult(output=output.output().text, seconds=round(time.monotonic() - began, 3), ended=ended)

    async def _collect_output(self, code: str, output: OutputBuffer) -> bool:
        """Collect what the code prints until its end marker; False if that is too much."""
        marker = random_token().encode()
        await self._process.send(json.dumps({"command": code, "mark": marker.decode()}).encode() + b"\n")
        while output.total <= MAX_OUTPUT:
            self._received += await self._process.receive_some(_CHUNK)
            before, end_marker, after = self._received.partition(marker)
            # The last bytes received may be the beginning of the marker.
            complete = before if end_marker else self._received[: max(0, len(self._received) - len(marker) + 1)]
            output.add(complete)
            self._received = after if end_marker else self._received[len(complete) :]
            if end_marker:
                return True
        return False
