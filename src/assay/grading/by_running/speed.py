"""Judge code by its speed: check it, then time it against the reference, with the clock out of its reach.

Submitted code runs only in labs. What it sends back is bounded, compared and never interpreted:

- The clock and the verdict are here. The time of a call is from the first byte of its input sent to the last byte of
  its output received, so that a lazy result is not yet a result.
- Inputs are random and made for one call, and an answer must repeat the random token of its request: nothing can be
  precomputed.
- Every output, timed or not, is compared with that of the reference for the same input.
- The reference runs in labs of its own, behind the same driver, so that both have the same overhead.
- Each measurement has a fresh lab that is closed before the next one opens. No submitted code runs while the
  reference does.
- The two alternate, and so does which of them is first, so that neither a machine that gets busier nor the order
  favors one of them. Only one timing at a time runs per home.

A task of this kind has a `cases.py` (see `Cases`) and prepares its reference as `private/reference.py`.
"""

import math
import secrets
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

import anyio
import numpy as np
from numpy.typing import NDArray

from assay.core.disk import file_lock
from assay.core.errors import InvalidSubmission, LabError, NotPrepared
from assay.core.home import Home
from assay.core.text import one_line, quote
from assay.grading.by_running import driver
from assay.grading.result import Judgement
from assay.lab import open_lab
from assay.lab.environments import find_environment
from assay.lab.interface import Limits, Process, SandboxName, Setup
from assay.tasks import Task, load_plugin

if TYPE_CHECKING:
    from assay.data.store import Prepared

Array = NDArray[Any]
Arguments = tuple[Array, ...]

BLOCKS = 4
"""Each block is a pair with the reference first and a pair with the submission first."""
TIMED_CALLS = 2
"""Timed calls in each lab, after a small untimed one."""

_MAX_OUTPUT = 256 * 10**6
_START_SECONDS = 60.0
_REFERENCE_SECONDS = 120.0
_MAX_SLOWDOWN = 20
"""A call is aborted after this many times the slowest call of the reference."""


class Cases(Protocol):
    """What the `cases.py` of a task provides. It runs on the host and never sees submitted code."""

    FUNCTION: str

    def checks(self, random: np.random.Generator) -> Iterable[Arguments]:
        """Yield inputs of every shape that the contract allows, for checking; the first is small, for warming up."""
        ...

    def timed(self, random: np.random.Generator) -> Arguments:
        """Return an input of the size that is timed."""
        ...

    def difference(self, output: Array, expected: Array) -> str | None:
        """Return what is wrong with an output of the right type and shape, or None."""
        ...


async def judge_speed(code: bytes, task: Task, prepared: "Prepared", *, home: Home, sandbox: SandboxName) -> Judgement:
    """Return how many times faster than the reference the code is: the ratio of their shortest times.

    Other load only ever adds time, so the shortest of many calls is what the code itself takes. The tolerance is half
    the range of the same ratio in each block, as a share of the score.
    """
    cases = cast(Cases, load_plugin(task.folder / "cases.py"))
    reference = _read_reference(task, prepared)
    bench = _Stopwatch(task, cases.FUNCTION, home, sandbox)
    random = np.random.default_rng()  # seeded by the operating system
    blocks: list[tuple[_Times, _Times]] = []
    try:
        async with _exclusive_timing(home):
            pairs = _Pairs(bench, cases, reference, code)
            await pairs.measure(list(cases.checks(random)))
            for _ in range(BLOCKS):
                measured = []
                for reference_first in (True, False):
                    warm_up = next(iter(cases.checks(random)))
                    inputs = [warm_up, *(cases.timed(random) for _ in range(TIMED_CALLS))]
                    measured.append(await pairs.measure(inputs, reference_first=reference_first))
                blocks.append((measured[0], measured[1]))
    except InvalidSubmission as error:
        return Judgement(why=str(error), sealed=bench.sealed)
    score = _ratio([times for block in blocks for times in block])
    ratios = [_ratio(block) for block in blocks]
    return Judgement(score=score, tolerance=round((max(ratios) - min(ratios)) / 2 / score, 4), sealed=bench.sealed)


@asynccontextmanager
async def _exclusive_timing(home: Home) -> AsyncIterator[None]:
    """Wait until no other timing runs. Polled, because a blocked thread could not be cancelled."""
    while True:
        with file_lock(home.locks / "timing", wait=False) as mine:
            if mine:
                yield
                return
        await anyio.sleep(0.2)


def _read_reference(task: Task, prepared: "Prepared") -> bytes:
    path = prepared.private / "reference.py"
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise NotPrepared(f"{task.id} has no reference at {path}; prepare it again") from None


@dataclass(frozen=True)
class _Times:
    """The shortest time of each in one pair of labs."""

    reference: float
    submission: float


def _ratio(measured: Sequence[_Times]) -> float:
    """Return how many times faster the submission was, by the shortest times of both."""
    return min(times.reference for times in measured) / min(times.submission for times in measured)


class _Pairs:
    """Runs the reference and the submission on the same inputs and compares every output."""

    def __init__(self, bench: "_Stopwatch", cases: Cases, reference: bytes, code: bytes) -> None:
        self._bench = bench
        self._cases = cases
        self._reference = reference
        self._code = code
        self._slowest = _REFERENCE_SECONDS / _MAX_SLOWDOWN

    async def measure(self, inputs: Sequence[Arguments], *, reference_first: bool = True) -> "_Times":
        """Run both, one after the other, and return their shortest times."""
        if reference_first:
            ours = await self._run_reference(inputs)
            theirs = await self._run_submission(inputs, [call.output for call in ours])
        else:
            theirs = await self._run_submission(inputs)
            ours = await self._run_reference(inputs)
        for call, right in zip(theirs, ours, strict=True):
            if wrong := _find_mismatch(self._bench.function, call.output, right.output):
                raise InvalidSubmission(f"{self._bench.task.submission.file}: {wrong}.")
            if wrong := self._cases.difference(call.output, right.output):
                raise InvalidSubmission(f"{self._bench.task.submission.file}: {wrong}.")
        return _Times(_shortest(ours), _shortest(theirs))

    async def _run_reference(self, inputs: Sequence[Arguments]) -> "list[_Call]":
        try:
            calls = await self._bench.calls(self._reference, inputs)
        except _Failed as error:
            raise LabError(f"the reference of {self._bench.task.id} failed: {error}") from None
        self._slowest = max(call.seconds for call in calls)
        return calls

    async def _run_submission(
        self, inputs: Sequence[Arguments], expected: Sequence[Array] | None = None
    ) -> "list[_Call]":
        max_seconds = _MAX_SLOWDOWN * self._slowest + 1
        try:
            return await self._bench.calls(self._code, inputs, expected=expected, seconds=max_seconds)
        except _Failed as error:
            raise InvalidSubmission(f"{self._bench.task.submission.file}: {error}.") from None


@dataclass(frozen=True)
class _Call:
    seconds: float
    output: Array


class _Failed(Exception):
    """The measured code gave no usable answer; the message says why."""


def _shortest(calls: Sequence[_Call]) -> float:
    """Return the shortest time, because other load only adds; without the first call, which pays for imports."""
    return min(call.seconds for call in calls[1:] or calls)


class _Stopwatch:
    """Runs code in fresh labs and times it."""

    def __init__(self, task: Task, function: str, home: Home, sandbox: SandboxName) -> None:
        self.task = task
        self.sealed: bool | None = None
        self.function = function
        self._home = home
        self._sandbox: SandboxName = sandbox
        limits = Limits.from_resources(task.resources, processes=64)
        self._setup = Setup(find_environment(home, task.environment), limits=limits, pinned=True)

    async def calls(
        self,
        code: bytes,
        inputs: Sequence[Arguments],
        expected: Sequence[Array] | None = None,
        seconds: float = _REFERENCE_SECONDS,
    ) -> list[_Call]:
        """Call the function in `code` on each of the inputs, in a lab of its own."""
        file, program = self.task.submission.file, Path(driver.__file__)
        async with open_lab(self._home, self._setup, sandbox=self._sandbox) as lab:
            self.sealed = lab.sealing.sealed and self.sealed is not False
            await lab.write(program.name, program.read_bytes())
            await lab.write(file, code)
            process = await lab.start(["python", program.name, file, self.function])
            made: list[_Call] = []
            try:
                for place, arguments in enumerate(inputs):
                    right = expected[place] if expected is not None else None
                    allowed = seconds if made else seconds + _START_SECONDS
                    made.append(await self._call(process, arguments, right, allowed))
            except _Ended:
                pass
            finally:
                with anyio.CancelScope(shield=True):
                    completed = await process.kill()
        if len(made) < len(inputs):
            last = completed.stderr.text.strip().splitlines()[-1:]
            detail = f": {quote(last[0])}" if last else ""
            raise _Failed(f"it ended before it answered ({completed.ended}, code {completed.code}){detail}")
        return made

    async def _call(self, process: Process, arguments: Arguments, expected: Array | None, seconds: float) -> _Call:
        token = secrets.token_bytes(driver.TOKEN_SIZE)
        request = driver.pack_request(token, arguments)
        try:
            with anyio.fail_after(seconds):
                started = time.perf_counter()
                await process.send(request)
                output = await self._answer(process, token, expected)
                return _Call(time.perf_counter() - started, output)
        except TimeoutError:
            raise _Failed(f"a call of {self.function} did not end within {seconds:.0f} seconds") from None
        except LabError as error:
            raise _Ended from error

    async def _answer(self, process: Process, token: bytes, expected: Array | None) -> Array:
        """Read one answer, and never more bytes than expected."""
        head = await process.receive(driver.TOKEN_SIZE + 1 + driver.HEADER_SIZE)
        if head[: driver.TOKEN_SIZE] != token:
            raise _Failed("the answer does not belong to the request")
        kind = head[driver.TOKEN_SIZE : driver.TOKEN_SIZE + 1]
        try:
            dtype, shape, size = driver.unpack_header(head[driver.TOKEN_SIZE + 1 :])
        except ValueError as error:
            raise _Failed(f"the answer is malformed: {error}") from None
        if kind == driver.FAULT and size <= driver.MAX_FAULT_BYTES:
            raise _Failed(f"{self.function} failed with {_printable(await process.receive(size))}")
        if kind != driver.RESULT:
            raise _Failed("the answer is malformed")
        if expected is not None and (wrong := _find_other_form(self.function, dtype, shape, expected)):
            raise _Failed(wrong)
        if size > _MAX_OUTPUT:
            raise _Failed(f"{self.function} returned {size:,} bytes; at most {_MAX_OUTPUT:,} are accepted")
        return np.frombuffer(await process.receive(size), dtype).reshape(shape)


def _find_mismatch(function: str, output: Array, expected: Array) -> str | None:
    return _find_other_form(function, output.dtype, output.shape, expected)


def _find_other_form(function: str, dtype: "np.dtype[Any]", shape: tuple[int, ...], expected: Array) -> str | None:
    """Return what is wrong with the type and shape of an output, or None."""
    if dtype == expected.dtype and shape == expected.shape:
        return None
    found, right = f"{dtype} of shape {_short(shape)}", f"{expected.dtype} of shape {expected.shape}"
    return f"{function} returned {found}; {right} is expected"


class _Ended(Exception):
    """The process has ended."""


def _printable(text: bytes) -> str:
    """Return the message of submitted code as one printable line."""
    return one_line(text.decode(errors="replace"), 200).rstrip(".")


def _short(shape: tuple[int, ...]) -> str:
    return str(shape) if math.prod(shape) < 10**15 else "too large to print"
