"""Judging weights: a checkpoint runs in pristine code, in a lab of its own, on inputs that nobody has seen.

Only numbers are taken from an agent. Its code is never run here, so a score is what these weights make of that model,
and running an algorithm in the model's place gains nothing. A task of this kind has

- `model.py`, the model code, which `prepare` also copies to public so that agents train exactly what is judged;
- `judge.py`, which reads `checkpoint.npz` and the files below `inputs/`, and writes `predictions.csv`. Where the
  checkpoint is at fault it ends by `sys.exit` with a sentence, as for a shape that does not fit, or weights that are
  not finite: the form is checked here, but what the arrays mean only the model knows. Its settings must be bounded;
- `private/inputs/`, the hidden inputs, and `private/answers.csv`, which stays out of the lab;
- in `task.toml`: `judged = "checkpoint"`, and under `[submission]` `form = "file"`, `file = "checkpoint.npz"`,
  `max_size` for the file and for what it unpacks to, `judge_time`, and `id` and `columns` of the predictions.

The lab has the task's environment and resources. What the judge writes is read as data, and checked and scored as any
table that is handed in.
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
from assay.core.text import quote
from assay.tasks import Task

if TYPE_CHECKING:
    from assay.data.store import Prepared
    from assay.lab.interface import Completed, SandboxName

PREDICTIONS = "predictions.csv"
MAX_ARRAYS = 2000

_MOST_PREDICTIONS = 100 * 10**6
_LONGEST_HEADER = 4096
_MOST_AXES = 8
_NUMBERS = "biuf"
_DAMAGED = (
    zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, ValueError, TypeError, KeyError, IndexError,
    RuntimeError, RecursionError, MemoryError, SyntaxError,
)  # fmt: skip
"""All that Python's readers of zip files and of array headers raise on damaged ones; found by feeding them such."""


@dataclass(frozen=True)
class Run:
    """What came of running a checkpoint: its predictions, or why there are none."""

    sealed: bool
    predictions: bytes | None = None
    why: str | None = None


async def run_checkpoint(
    content: bytes, task: Task, prepared: "Prepared", *, home: Home, sandbox: "SandboxName"
) -> Run:
    """Let the task's own judge run the checkpoint on the hidden inputs, in a lab that is gone afterwards.

    `InvalidSubmission` is raised where the file has not even the form of a checkpoint, `LabError` where not it but the
    lab is to blame.
    """
    from assay.lab import open_lab
    from assay.lab.environments import find_environment
    from assay.lab.interface import Limits, Setup

    submission, resources = task.submission, task.resources
    check_checkpoint(content, submission.file, submission.max_size)
    files = _files(task, prepared) | {submission.file: content}
    limits = Limits.from_resources(resources)
    setup = Setup(find_environment(home, task.environment), limits=limits, pinned=True)
    async with open_lab(home, setup, sandbox=sandbox) as lab:
        for path, file in files.items():
            await lab.write(path, file)
        completed = await lab.run(["python", "judge.py"], seconds=submission.judge_time)
        sealed = lab.sealing.sealed
        if not completed.succeeded:
            return Run(sealed, why=f"{submission.file}: {_why(completed, task)}.")
        try:
            return Run(sealed, predictions=await lab.read(PREDICTIONS, max_size=_MOST_PREDICTIONS))
        except (FileNotFoundError, UnsafePath) as error:
            raise LabError(f"the judge of {task.id} wrote no table: {error}") from None


def with_predictions_table(task: Task) -> Task:
    """The task as if the table that its judge writes were what is handed in."""
    asked = {"form": "csv", "file": PREDICTIONS, "max_size": _MOST_PREDICTIONS}
    return task.model_copy(update={"submission": task.submission.model_copy(update=asked)})


def check_checkpoint(content: bytes, name: str, most: int) -> None:
    """Raise `InvalidSubmission` unless this is a zip file of plain arrays of numbers, of at most `most` bytes unpacked.

    Only names and headers are read, so a file that unpacks to more than it should costs nothing.
    """
    # Every member has this mark once, so members can be counted before a reader makes something of each.
    if content.count(b"PK\x01\x02") > 2 * MAX_ARRAYS:
        raise InvalidSubmission(f"{name} holds more than {MAX_ARRAYS:,} arrays.")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = archive.infolist()
            _check_members(members, name, most)
            for member in members:
                _check_array(archive, member, name)
    except _DAMAGED:
        raise InvalidSubmission(f"{name} is not a readable .npz file; write it with numpy.savez.") from None


def _check_members(members: list[zipfile.ZipInfo], name: str, most: int) -> None:
    names = [member.filename for member in members]
    if not names:
        raise InvalidSubmission(f"{name} holds no arrays.")
    if len(names) > MAX_ARRAYS:
        raise InvalidSubmission(f"{name} holds {len(names):,} arrays; at most {MAX_ARRAYS:,} are accepted.")
    for other in names:
        if not re.fullmatch(r"[\w.]{1,200}\.npy", other, re.ASCII):
            raise InvalidSubmission(f"{name} holds {quote(other)}, which is not the name of an array.")
    if len(set(names)) < len(names):
        raise InvalidSubmission(f"{name} holds an array twice.")
    if (total := sum(member.file_size for member in members)) > most:
        raise InvalidSubmission(f"{name} unpacks to {total:,} bytes; at most {most:,} are accepted.")


def _check_array(archive: zipfile.ZipFile, member: zipfile.ZipInfo, name: str) -> None:
    array = f"{name}, array {quote(member.filename.removesuffix('.npy'))}"
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or member.flag_bits & 1:
        raise InvalidSubmission(f"{array} is packed in a way that numpy does not write.")
    with archive.open(member) as file:
        head = io.BytesIO(file.read(_LONGEST_HEADER))
    version = npy.read_magic(head)
    if version not in ((1, 0), (2, 0)):
        raise InvalidSubmission(f"{array} is written in a way that is not for numbers.")
    # The readers look at the header alone: they parse its literals and neither unpickle nor allocate the array.
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = read(head, max_header_size=_LONGEST_HEADER)
    if dtype.hasobject or dtype.kind not in _NUMBERS:
        raise InvalidSubmission(f"{array} is of type {quote(dtype)}; only plain numbers are accepted.")
    if len(shape) > _MOST_AXES or any(length < 0 for length in shape):
        raise InvalidSubmission(f"{array} has no shape that can be.")
    if head.tell() + math.prod(shape) * dtype.itemsize != member.file_size:
        raise InvalidSubmission(f"{array} does not hold as many numbers as it says.")


def _files(task: Task, prepared: "Prepared") -> dict[str, bytes]:
    """What the lab gets beside the checkpoint: our code, and the hidden inputs."""
    try:
        code = {name: (task.folder / name).read_bytes() for name in ("model.py", "judge.py")}
    except FileNotFoundError as error:
        raise UsageError(f"{error.filename} is missing") from None
    inputs = prepared.private / "inputs"
    paths = [path for path in sorted(inputs.rglob("*")) if path.is_file()]
    if not paths:
        raise NotPrepared(f"{task.id} has no hidden inputs at {inputs}; prepare it again")
    return code | {f"inputs/{path.relative_to(inputs).as_posix()}": path.read_bytes() for path in paths}


def _why(completed: "Completed", task: Task) -> str:
    """Why the judge could not do with a checkpoint, told as part of a sentence."""
    if completed.ended == "time":
        return f"running it took more than {format_duration(task.submission.judge_time)}"
    if completed.ended == "memory":
        return f"running it took more than {format_size(task.resources.memory)} of memory"
    said = completed.stderr.text.strip().splitlines()
    if completed.ended != "exit" or not said:
        return f"running it failed ({completed.ended}, code {completed.code})"
    # The judge is our code, but what it quotes of a checkpoint is not.
    return "".join(c if c.isprintable() else " " for c in said[-1])[:300].strip().rstrip(".")
