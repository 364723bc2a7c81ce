"""Reading a submission in a process of its own, with limits on its memory and time.

An agent's file is read by large libraries that were not made for hostile input. Whatever it makes them do, only a
separate process can crash, and never uses more memory than `max_memory` allows. Trials and `assay verify` read
submissions this way. Files up to `SMALL` are the exception: starting a process takes longer than grading them, and
without decompression, which `read` refuses, no parser needs 300 MB for so few bytes. `assay grade` and `assay
grade-batch` read every file in their own process, because there users read their own files.
"""

import json
import os
import pickle
import resource
import signal
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from assay.core.errors import InvalidSubmission, LabError
from assay.core.quantities import format_size
from assay.grading.grade import judge_table, validate_submission
from assay.grading.result import Judgement, TestNoise

if TYPE_CHECKING:
    from assay.data.store import Prepared

SMALL = 10**6
MEMORY_FACTOR = 5
MEMORY_EXTRA = 300 * 10**6
ANSWERS_FACTOR = 10
TIMEOUT = 1800.0
_OUT_OF_MEMORY = 77
_MAX_REPLY = 10**6

Purpose = Literal["judge", "validate"]


@dataclass(frozen=True)
class _Request:
    purpose: Purpose
    source: bytes | Path
    prepared: "Prepared"


def judge_isolated(source: bytes | Path | None, prepared: "Prepared") -> Judgement:
    """Return the score of a submitted table, or why it has none."""
    if source is None or _is_small(source):
        return judge_table(source, prepared)
    return _call(_Request("judge", source, prepared))


def validate_isolated(source: bytes | Path, prepared: "Prepared") -> None:
    """Raise `InvalidSubmission` unless the submission has the form that the task asks for."""
    if _is_small(source):
        validate_submission(source, prepared)
        return
    judgement = _call(_Request("validate", source, prepared))
    if judgement.why is not None:
        raise InvalidSubmission(judgement.why)


def max_memory(source: bytes | Path, prepared: "Prepared") -> int:
    """Return how many bytes of memory reading a submission may take, besides code.

    It is in proportion to the submission, which is hostile, and to the answers, which are not.
    """
    answers = sum(file.size for file in prepared.manifest.private.values())
    return MEMORY_EXTRA + MEMORY_FACTOR * _size(source) + ANSWERS_FACTOR * answers


def _is_small(source: bytes | Path) -> bool:
    return _size(source) <= SMALL


def _size(source: bytes | Path) -> int:
    """Return the size of a submission; a path that leads to no file is refused when it is opened."""
    if isinstance(source, bytes):
        return len(source)
    try:
        return source.lstat().st_size
    except OSError:
        return 0


def _call(request: _Request) -> Judgement:
    code = f"import sys; sys.path[:] = {sys.path!r}; import {__name__} as m; m.serve_request()"
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-c", code],
            input=pickle.dumps(request),
            capture_output=True,
            env=os.environ | {"POLARS_MAX_THREADS": "4"},  # the stacks of threads count as memory
            timeout=TIMEOUT,
            start_new_session=True,
        )
    except subprocess.TimeoutExpired:
        return Judgement(why=f"Reading the submission takes longer than {TIMEOUT:.0f} seconds.")
    # Libraries that cannot allocate memory abort; the kernel kills a process that exceeds the memory of the machine.
    if done.returncode in (_OUT_OF_MEMORY, -signal.SIGABRT, -signal.SIGSEGV, -signal.SIGBUS):
        limit = format_size(max_memory(request.source, request.prepared))
        return Judgement(why=f"Reading the submission takes more than {limit} of memory.")
    if done.returncode != 0 or len(done.stdout) > _MAX_REPLY:
        message = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        raise LabError(f"the process that reads submissions failed (exit code {done.returncode}): {message}")
    reply = json.loads(done.stdout)
    noise = reply.pop("noise")
    return Judgement(**reply, noise=noise and TestNoise.model_validate(noise))


def serve_request() -> None:
    """Read one request from standard input and print the judgement; runs in the separate process."""
    request: _Request = pickle.loads(sys.stdin.buffer.read())
    _limit_memory(max_memory(request.source, request.prepared))
    try:
        if request.purpose == "judge":
            judgement = judge_table(request.source, request.prepared)
        else:
            try:
                validate_submission(request.source, request.prepared)
                judgement = Judgement()
            except InvalidSubmission as error:
                judgement = Judgement(why=str(error))
    except MemoryError:
        sys.exit(_OUT_OF_MEMORY)
    noise = judgement.noise.model_dump() if judgement.noise else None
    sys.stdout.write(json.dumps({**asdict(judgement), "noise": noise}))


def _limit_memory(allowed: int) -> None:
    """Limit what this process may allocate beyond what it has already."""
    status = Path("/proc/self/status").read_text()
    now = next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmData:"))
    resource.setrlimit(resource.RLIMIT_DATA, (now + allowed, now + allowed))
