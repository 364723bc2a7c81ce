"""Judge code by its speed: check it, then time it against the reference, with the clock out of its reach.

Submitted code runs only in labs. What it sends back is bounded, compared and never interpreted:

- The clock and the verdict are here. The time of a call is from the first byte of its input sent to the last byte of
  its output received, so that a lazy result is not yet a result.
- Inputs are random and made for one call, and an answer must repeat the random token of its request: nothing can be
  precomputed.
- Every output, timed or not, is compared with that of the reference for the same input.
- The reference runs in labs of its own, behind the same driver, so that both have the same overhead.
- The two take turns, call by call and on the same input, and so does which of them is first: a machine that gets
  busier for a while slows both calls of a pair. Only the code that is called runs; the other is frozen in its lab.
- Each round of pairs has fresh labs. There are several rounds; they repeat until the score is precise enough, or time
  is up, but not for a miniature, which is for trying things out. Only one timing at a time runs per home.

A task of this kind has a `cases.py` (see `Cases`) and prepares its reference as `private/reference.py`.
"""

import math
import secrets
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
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
from assay.tasks import load_plugin
from assay.tasks.model import is_miniature

if TYPE_CHECKING:
    from assay.data.store import Prepared

Array = NDArray[Any]
Arguments = tuple[Array, ...]

PAIRS = 8
"""Timed pairs of calls in each round; one lab each is started for a round."""
MIN_ROUNDS = 2
MAX_ROUNDS = 8
MAX_SECONDS = 30.0
"""No further round begins after this time, however imprecise the score still is."""
PRECISION = 0.03
"""A tolerance that is good enough."""

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


async def judge_speed(code: bytes, prepared: "Prepared", *, home: Home, sandbox: SandboxName) -> Judgement:
    """Return how many times faster than the reference the code is: the median ratio of their times over all pairs.

    The tolerance is how far the farther end of the median's 95% interval is from the score, as a factor minus 1: the
    score divided by 1 + tolerance is never above the lower end.
    """
    cases = cast(Cases, load_plugin(prepared.task.folder / "cases.py"))
    comparison = _SpeedComparison(prepared, cases, code, home, sandbox)
    ratios: list[float] = []
    try:
        async with _exclusive_timing(home):
            start = time.monotonic()
            for done in range(MIN_ROUNDS if is_miniature(prepared.variant) else MAX_ROUNDS):
                if done >= MIN_ROUNDS and (
                    compute_tolerance(ratios) <= PRECISION or time.monotonic() - start > MAX_SECONDS
                ):
                    break
                ratios += await comparison.run_round(check_all=done == 0)
    except InvalidSubmission as error:
        return Judgement(why=str(error), sealed=comparison.sealed)
    return Judgement(score=median(ratios), tolerance=round(compute_tolerance(ratios), 4), sealed=comparison.sealed)


def median_interval(values: Sequence[float], level: float = 0.95) -> tuple[float, float]:
    """Return the narrowest pair of values, equally far from both ends, that holds the median with this probability.

    The number of n values below the median is binomial with probability 1/2, whatever their distribution.
    """
    ordered, tail, outside = sorted(values), 0.0, 0
    while (tail := tail + math.comb(len(ordered), outside) / 2 ** len(ordered)) <= (1 - level) / 2:
        outside += 1
    if not outside:
        raise ValueError(f"{len(ordered)} values are too few for an interval of {level:.0%}")
    return ordered[outside - 1], ordered[-outside]


def compute_tolerance(ratios: Sequence[float]) -> float:
    """Return how far the farther end of the median's interval is from it, as a factor minus 1."""
    low, high = median_interval(ratios)
    score = median(ratios)
    return max(score / low, high / score) - 1


@asynccontextmanager
async def _exclusive_timing(home: Home) -> AsyncIterator[None]:
    """Wait until no other timing runs. Polled, because a blocked thread could not be cancelled."""
    while True:
        with file_lock(home.locks / "timing", wait=False) as mine:
            if mine:
                yield
                return
        await anyio.sleep(0.2)


def _read_reference(prepared: "Prepared") -> bytes:
    path = prepared.private / "reference.py"
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise NotPrepared(f"{prepared.task.id} has no reference at {path}; prepare it again") from None


class _SpeedComparison:
    """Runs the reference and the submission on the same inputs, in turns, and compares every output."""

    def __init__(self, prepared: "Prepared", cases: Cases, code: bytes, home: Home, sandbox: SandboxName) -> None:
        self.sealed: bool | None = None
        self._task = task = prepared.task
        self._cases = cases
        self._reference = _read_reference(prepared)
        self._code = code
        self._home = home
        self._sandbox: SandboxName = sandbox
        limits = Limits.from_resources(task.resources, processes=64)
        environment = find_environment(home, task.environment_for(prepared.variant))
        self._setup = Setup(environment, limits=limits, pinned=True)
        self._random = np.random.default_rng()  # seeded by the operating system
        self._slowest = _REFERENCE_SECONDS / _MAX_SLOWDOWN

    async def run_round(self, *, check_all: bool) -> list[float]:
        """Start both in fresh labs, check them, and return the ratio of their times for each timed pair."""
        checks = list(self._cases.checks(self._random))
        async with self._start(self._reference) as reference, self._start(self._code) as submission:
            for arguments in checks if check_all else checks[:1]:
                await self._compare(reference, submission, arguments)
            self._slowest = 0.0
            return [
                await self._compare(reference, submission, self._cases.timed(self._random), swap=bool(pair % 2))
                for pair in range(PAIRS)
            ]

    @asynccontextmanager
    async def _start(self, code: bytes) -> "AsyncIterator[_Frozen]":
        file, program = self._task.submission.file, Path(driver.__file__)
        async with open_lab(self._home, self._setup, sandbox=self._sandbox) as lab:
            self.sealed = lab.sealing.sealed and self.sealed is not False
            await lab.write(program.name, program.read_bytes())
            await lab.write(file, code)
            process = await lab.start(["python", program.name, file, self._cases.FUNCTION])
            await process.pause()
            yield _Frozen(process, self._cases.FUNCTION)

    async def _compare(
        self, reference: "_Frozen", submission: "_Frozen", arguments: Arguments, *, swap: bool = False
    ) -> float:
        """Call both on one input, with `swap` the submission first, and return how many times faster it was."""
        if swap:
            theirs = await self._call_submission(submission, arguments)
            ours = await self._call_reference(reference, arguments)
        else:
            ours = await self._call_reference(reference, arguments)
            theirs = await self._call_submission(submission, arguments, ours.output)
        wrong = _find_other_form(self._cases.FUNCTION, theirs.output.dtype, theirs.output.shape, ours.output)
        if wrong := wrong or self._cases.difference(theirs.output, ours.output):
            raise InvalidSubmission(f"{self._task.submission.file}: {wrong}.")
        return ours.seconds / theirs.seconds

    async def _call_reference(self, reference: "_Frozen", arguments: Arguments) -> "_Call":
        try:
            call = await reference.call(arguments, None, _REFERENCE_SECONDS)
        except _Failed as error:
            raise LabError(f"the reference of {self._task.id} failed: {error}") from None
        self._slowest = max(self._slowest, call.seconds)
        return call

    async def _call_submission(
        self, submission: "_Frozen", arguments: Arguments, expected: Array | None = None
    ) -> "_Call":
        try:
            return await submission.call(arguments, expected, _MAX_SLOWDOWN * self._slowest + 1)
        except _Failed as error:
            raise InvalidSubmission(f"{self._task.submission.file}: {error}.") from None


@dataclass(frozen=True)
class _Call:
    seconds: float
    output: Array


class _Failed(Exception):
    """The measured code gave no usable answer; the message says why."""


class _Frozen:
    """Code in a lab of its own that is frozen except while it is called."""

    def __init__(self, process: Process, function: str) -> None:
        self._process = process
        self._function = function
        self._started = False

    async def call(self, arguments: Arguments, expected: Array | None, seconds: float) -> _Call:
        """Call the function and time it; it must return an array of the form of `expected`, if that is given."""
        if not self._started:  # the first call imports the code and its libraries
            self._started, seconds = True, seconds + _START_SECONDS
        token = secrets.token_bytes(driver.TOKEN_SIZE)
        request = driver.pack_request(token, arguments)
        await self._process.unpause()
        try:
            with anyio.fail_after(seconds):
                started = time.perf_counter()
                await self._process.send(request)
                output = await self._answer(self._process, token, expected)
                taken = time.perf_counter() - started
        except TimeoutError:
            raise _Failed(f"a call of {self._function} did not end within {seconds:.0f} seconds") from None
        except LabError:
            with anyio.CancelScope(shield=True):
                completed = await self._process.kill()
            last = completed.stderr.text.strip().splitlines()[-1:]
            detail = f": {quote(last[0])}" if last else ""
            raise _Failed(f"it ended before it answered ({completed.ended}, code {completed.code}){detail}") from None
        try:
            await self._process.pause()
        except LabError as error:
            raise _Failed(f"after a call, {error}") from None
        return _Call(taken, output)

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
            raise _Failed(f"{self._function} failed with {_printable(await process.receive(size))}")
        if kind != driver.RESULT:
            raise _Failed("the answer is malformed")
        if expected is not None and (wrong := _find_other_form(self._function, dtype, shape, expected)):
            raise _Failed(wrong)
        if size > _MAX_OUTPUT:
            raise _Failed(f"{self._function} returned {size:,} bytes; at most {_MAX_OUTPUT:,} are accepted")
        return np.frombuffer(await process.receive(size), dtype).reshape(shape)


def _find_other_form(function: str, dtype: "np.dtype[Any]", shape: tuple[int, ...], expected: Array) -> str | None:
    """Return what is wrong with the type and shape of an output, or None."""
    if dtype == expected.dtype and shape == expected.shape:
        return None
    returned, right = f"{dtype} of shape {_short(shape)}", f"{expected.dtype} of shape {expected.shape}"
    return f"{function} returned {returned}; {right} is expected"


def _printable(text: bytes) -> str:
    """Return the message of submitted code as one printable line."""
    return one_line(text.decode(errors="replace"), 200).rstrip(".")


def _short(shape: tuple[int, ...]) -> str:
    return str(shape) if math.prod(shape) < 10**15 else "too large to print"
