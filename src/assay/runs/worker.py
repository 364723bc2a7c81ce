"""The process of one trial on a cluster machine: waits for the lease, fetches missing data, and runs the job.

The starter keeps the process's standard input open. When it closes, the starter is gone, and the process ends.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from assay.core.errors import AssayError
from assay.core.home import Home
from assay.lab.host.gpus import gpu_numbers
from assay.records import TrialFile, TrialFolder
from assay.records.lease import Claim, LeaseWatch
from assay.runs.job import GRACE, TICK, UNRECORDED, JobSpec, Taken
from assay.runs.machine_setup import provision
from assay.runs.trial import JOB_KINDS
from assay.tasks import Task

_GPU_VARIABLES = ("SLURM_STEP_GPUS", "SLURM_JOB_GPUS", "CUDA_VISIBLE_DEVICES")


def start(spec: JobSpec) -> "subprocess.Popen[bytes]":
    """Start a job in a process of its own session, so that only its starter signals it."""
    command = [sys.executable, "-P", "-m", "assay.runs.worker", spec.model_dump_json()]
    folder = spec.folder if spec.folder and spec.folder.is_dir() else None
    return subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, start_new_session=True)


def main() -> int:
    """Run the job given on the command line, and end when the starter is gone."""
    signal.signal(signal.SIGUSR2, signal.SIG_IGN)
    spec = JobSpec.model_validate_json(sys.argv[1])
    threading.Thread(target=_end_with_starter, daemon=True).start()
    try:
        run_job(spec)
    except (AssayError, OSError) as error:
        # Failures of the trial are in its record by now; this is a failure to write the record.
        sys.stderr.write(f"assay: {error}\n")
        return UNRECORDED
    return 0


def run_job(spec: JobSpec) -> None:
    """Run a job as soon as no other process holds the trial, unless the trial is finished by then."""
    folder, watch = TrialFolder(spec.trial), LeaseWatch(spec.lapse)
    expired = Claim(*spec.expired) if spec.expired else None

    def ready(file: TrialFile, task: Task, home: Home) -> None:
        provision(file, task, home, Home(spec.source) if spec.source else None)

    file = folder.file
    gpus = assigned_gpus(file.resources.gpus, os.environ, gpu_numbers())
    while not folder.state.final:
        try:
            with _kill_if_overdue(folder, file.budget.time + spec.overdue):
                JOB_KINDS[spec.kind](spec.trial, Home(spec.home), gpus, expired=expired, ready=ready)
            return
        except Taken:
            time.sleep(TICK)
            expired = watch.expired(spec.trial)


def assigned_gpus(count: int, variables: Mapping[str, str], available: tuple[int, ...]) -> tuple[int, ...]:
    """Return the numbers of the GPUs that the scheduler assigned to this process."""
    if count == 0:
        return ()
    for name in _GPU_VARIABLES:
        numbers = [part.strip() for part in variables.get(name, "").split(",")]
        if all(number.isdecimal() for number in numbers):
            return tuple(map(int, numbers))[:count]
    if len(available) < count:
        raise AssayError(f"the trial needs {count} GPUs, but this machine has {len(available)}; see: assay doctor")
    return available[:count]


@contextmanager
def _kill_if_overdue(folder: TrialFolder, seconds: float) -> Iterator[None]:
    """Kill this process if the trial has submitted nothing long after its time is over, because it hangs."""

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
    # Not `sys.stdin`, whose lock would be held when the process exits: that aborts it.
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    threading.Event().wait(GRACE)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main())
