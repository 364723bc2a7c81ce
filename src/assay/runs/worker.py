"""One trial's process on a machine of a cluster: it waits for its turn, fetches what is missing, does the work.

Whoever starts it keeps its standard input open: when that closes, the starter is gone, and the process ends too.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from assay.core.errors import AssayError
from assay.core.home import Home
from assay.lab.host.gpus import gpu_numbers
from assay.records import TrialFile, TrialFolder
from assay.records.lease import LAPSE, Claim, Watch
from assay.runs.machine_setup import provision
from assay.runs.trial import Taken, conduct, grade_timed
from assay.tasks import Task

GRACE = 20.0
TICK = 0.5
TAKEN = 75
UNRECORDED = 74

JobKind = Literal["conduct", "grade"]
JOB_KINDS = {"conduct": conduct, "grade": grade_timed}
"""What can be done with a trial."""
_NAMED_BY = ("SLURM_STEP_GPUS", "SLURM_JOB_GPUS", "CUDA_VISIBLE_DEVICES")


class JobSpec(BaseModel):
    """What is to be done with which trial, and where things are on the machine that does it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    work: JobKind
    trial: Path
    home: Path
    source: Path | None = None
    lapse: float = LAPSE
    overdue: float = 1800.0
    expired: tuple[int, str] | None = None
    folder: Path | None = None
    """The working folder, in which relative paths of tasks and agents mean what they meant to the driver."""


def start(order: JobSpec) -> "subprocess.Popen[bytes]":
    """Start the process on this machine; in a session of its own, so that only its starter signals it."""
    command = [sys.executable, "-m", "assay.runs.worker", order.model_dump_json()]
    folder = order.folder if order.folder and order.folder.is_dir() else None
    return subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, start_new_session=True)


def main() -> int:
    """Do what the order on the command line says, and end when whoever gave it is gone."""
    signal.signal(signal.SIGUSR2, signal.SIG_IGN)
    order = JobSpec.model_validate_json(sys.argv[1])
    threading.Thread(target=_end_with_starter, daemon=True).start()
    try:
        run_job(order)
    except (AssayError, OSError) as error:
        # What is wrong with the trial is in its record by now; this is what is wrong with the record.
        sys.stderr.write(f"assay: {error}\n")
        return UNRECORDED
    return 0


def run_job(order: JobSpec) -> None:
    """Conduct or grade a trial as soon as nobody else is at it; nothing is left to do if they have finished it."""
    folder, watch = TrialFolder(order.trial), Watch(order.lapse)
    expired = Claim(*order.expired) if order.expired else None

    def ready(file: TrialFile, task: Task, home: Home) -> None:
        provision(file, task, home, Home(order.source) if order.source else None)

    file = folder.file
    gpus = assigned_gpus(file.resources.gpus, os.environ, gpu_numbers())
    while not folder.state.final:
        try:
            with _end_if_overdue(folder, file.budget.time + order.overdue):
                JOB_KINDS[order.work](order.trial, Home(order.home), gpus, expired=expired, ready=ready)
            return
        except Taken:
            time.sleep(TICK)
            expired = watch.expired(order.trial)


def assigned_gpus(count: int, variables: Mapping[str, str], there: tuple[int, ...]) -> tuple[int, ...]:
    """The numbers of the GPUs that the cluster's engine gave to this process."""
    if count == 0:
        return ()
    for name in _NAMED_BY:
        numbers = [part.strip() for part in variables.get(name, "").split(",")]
        if all(number.isdecimal() for number in numbers):
            return tuple(map(int, numbers))[:count]
    if len(there) < count:
        raise AssayError(f"the trial needs {count} GPUs, and this machine has {len(there)}; see: assay lab doctor")
    return there[:count]


@contextmanager
def _end_if_overdue(folder: TrialFolder, seconds: float) -> Iterator[None]:
    """End this process if the trial has handed nothing in long after its time is over: it hangs, and will hang on."""

    def end() -> None:
        if not folder.submission_entry:
            os.kill(os.getpid(), signal.SIGKILL)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _end_with_starter() -> None:
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGTERM)
    threading.Event().wait(GRACE)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main())
