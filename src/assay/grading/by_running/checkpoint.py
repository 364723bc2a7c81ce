"""Judge weights: a checkpoint runs in the task's own code, in a lab of its own, on hidden inputs.

Only numbers are taken from an agent. Its code is never run here, so the score is that of these weights in that model,
and an algorithm in place of the model gains nothing. A task of this kind has

- `model.py`, the model code, which `prepare` also copies to the public files so that agents train exactly what is
  judged;
- `judge.py`, which is called with the path of the checkpoint, reads it and the files below `inputs/`, and writes
  `predictions.csv`. It rejects a bad checkpoint by `sys.exit` with a sentence, e.g. for a wrong shape or
  weights that are not finite: the format is checked here, but only the model knows what the arrays mean. Its settings
  must be bounded;
- `private/inputs/`, the hidden inputs, and `private/answers.csv`, which stays out of the lab;
- in `task.toml`: `judged = "checkpoint"`, and under `[submission]` `form = "file"`, `file = "checkpoint.npz"`,
  `max_size` for the file and for what it unpacks to, `judge_time`, and `id` and `columns` of the predictions.

The lab has the task's environment and resources. What the judge writes is data, which is checked and scored
like any submitted table.
"""

import io
import math
import re
import struct
import zipfile
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from numpy.lib import format as npy

from assay.core.errors import InvalidSubmission, LabError, NotPrepared, UnsafePath, UsageError
from assay.core.home import Home
from assay.core.quantities import format_duration, format_size
from assay.core.text import one_line, quote
from assay.tasks import Task

if TYPE_CHECKING:
    from assay.data.store import Prepared
    from assay.lab.interface import Completed, SandboxName

PREDICTIONS = "predictions.csv"
MAX_ARRAYS = 2000

_MAX_PREDICTIONS = 100 * 10**6
_MAX_HEADER = 4096
_MAX_AXES = 8
_NUMBERS = "biuf"
_DAMAGED = (
    zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, ValueError, TypeError, KeyError, IndexError,
    RuntimeError, RecursionError, MemoryError, SyntaxError,
)  # fmt: skip
"""What Python's zip and array readers raise for damaged files; found by fuzzing."""


@dataclass(frozen=True)
class Run:
    """The predictions of a checkpoint, or why there are none."""

    sealed: bool
    predictions: bytes | None = None
    why: str | None = None


async def run_checkpoint(content: bytes, prepared: "Prepared", *, home: Home, sandbox: "SandboxName") -> Run:
    """Let the task's judge run the checkpoint on the hidden inputs, in a lab of its own.

    Raises `InvalidSubmission` if the file is not a checkpoint at all, and `LabError` if the lab fails.
    """
    from assay.lab import open_lab
    from assay.lab.environments import find_environment
    from assay.lab.interface import Limits, Setup

    task, submission = prepared.task, prepared.task.submission
    check_checkpoint(content, submission.file, submission.max_size)
    files = _read_files(prepared) | {submission.file: content}
    limits = Limits.from_resources(task.resources)
    setup = Setup(find_environment(home, task.environment_for(prepared.variant)), limits=limits, pinned=True)
    async with open_lab(home, setup, sandbox=sandbox) as lab:
        for path, file in files.items():
            await lab.write(path, file)
        completed = await lab.run(["python", "judge.py", submission.file], seconds=submission.judge_time)
        sealed = lab.sealing.sealed
        if not completed.succeeded:
            return Run(sealed, why=f"{submission.file}: {_explain(completed, task)}.")
        try:
            return Run(sealed, predictions=await lab.read(PREDICTIONS, max_size=_MAX_PREDICTIONS))
        except (FileNotFoundError, UnsafePath) as error:
            raise LabError(f"the judge of {task.id} wrote no table: {error}") from None


def with_predictions_table(task: Task) -> Task:
    """Return the task as if the table of predictions were the submission."""
    form = {"form": "csv", "file": PREDICTIONS, "max_size": _MAX_PREDICTIONS}
    return task.model_copy(update={"submission": task.submission.model_copy(update=form)})


def check_checkpoint(content: bytes, name: str, max_size: int) -> None:
    """Raise `InvalidSubmission` unless this is a zip file of arrays of numbers, at most `max_size` bytes unpacked.

    Only names and headers are read, so that a zip bomb costs nothing.
    """
    # Every member has this signature once, so that members can be counted before any is parsed.
    if content.count(b"PK\x01\x02") > 2 * MAX_ARRAYS:
        raise InvalidSubmission(f"{name} holds more than {MAX_ARRAYS:,} arrays.")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = archive.infolist()
            _check_members(members, name, max_size)
            for member in members:
                _check_array(archive, member, name)
    except _DAMAGED:
        raise InvalidSubmission(f"{name} is not a readable .npz file; write it with numpy.savez.") from None


def _check_members(members: list[zipfile.ZipInfo], name: str, max_size: int) -> None:
    names = [member.filename for member in members]
    if not names:
        raise InvalidSubmission(f"{name} contains no arrays.")
    if len(names) > MAX_ARRAYS:
        raise InvalidSubmission(f"{name} holds {len(names):,} arrays; at most {MAX_ARRAYS:,} are accepted.")
    for other in names:
        if not re.fullmatch(r"[\w.]{1,200}\.npy", other, re.ASCII):
            raise InvalidSubmission(f"{name} holds {quote(other)}, which is not the name of an array.")
    if len(set(names)) < len(names):
        raise InvalidSubmission(f"{name} holds an array twice.")
    total = sum(member.file_size for member in members)
    if total > max_size:
        raise InvalidSubmission(f"{name} unpacks to {total:,} bytes; at most {max_size:,} are accepted.")


def _check_array(archive: zipfile.ZipFile, member: zipfile.ZipInfo, name: str) -> None:
    array = f"{name}, array {quote(member.filename.removesuffix('.npy'))}"
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or member.flag_bits & 1:
        raise InvalidSubmission(f"{array} is compressed in a way that numpy does not write.")
    with archive.open(member) as file:
        head = io.BytesIO(file.read(_MAX_HEADER))
    version = npy.read_magic(head)
    if version not in ((1, 0), (2, 0)):
        raise InvalidSubmission(f"{array} has a format version that is not for plain numbers.")
    # These read the header alone: they parse its literals and neither unpickle nor allocate the array.
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = read(head, max_header_size=_MAX_HEADER)
    if dtype.hasobject or dtype.kind not in _NUMBERS:
        raise InvalidSubmission(f"{array} is of type {quote(dtype)}; only plain numbers are accepted.")
    if len(shape) > _MAX_AXES or any(length < 0 for length in shape):
        raise InvalidSubmission(f"{array} has an impossible shape.")
    if head.tell() + math.prod(shape) * dtype.itemsize != member.file_size:
        raise InvalidSubmission(f"{array} does not hold as many numbers as its header says.")


def _read_files(prepared: "Prepared") -> dict[str, bytes]:
    """Return the other files of the lab: the judge, the model and the hidden inputs."""
    try:
        code = {name: prepared.task.path(name).read_bytes() for name in ("model.py", "judge.py")}
    except FileNotFoundError as error:
        raise UsageError(f"{error.filename} is missing") from None
    inputs = prepared.private / "inputs"
    paths = [path for path in sorted(inputs.rglob("*")) if path.is_file()]
    if not paths:
        raise NotPrepared(f"{prepared.task.id} has no hidden inputs at {inputs}; prepare it again")
    return code | {f"inputs/{path.relative_to(inputs).as_posix()}": path.read_bytes() for path in paths}


def _explain(completed: "Completed", task: Task) -> str:
    """Return why the judge could not run a checkpoint, as part of a sentence."""
    if completed.ended == "time":
        return f"running it took more than {format_duration(task.submission.judge_time)}"
    if completed.ended == "memory":
        return f"running it took more than {format_size(task.resources.memory)} of memory"
    lines = completed.stderr.text.strip().splitlines()
    if completed.ended != "exit" or not lines:
        return f"running it failed ({completed.ended}, code {completed.code})"
    # The judge is trusted code, but what it quotes from a checkpoint is not.
    return one_line(lines[-1], 300).rstrip(".")
