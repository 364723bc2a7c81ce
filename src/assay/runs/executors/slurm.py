"""Run trials as Slurm jobs through submitit: a job array with one job per trial.

When Slurm preempts a job or its time is up, the trial stops at its last snapshot, the job is requeued, and the trial
resumes from there wherever it starts again.
"""

import math
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Self

from assay.core.disk import atomic_write
from assay.core.errors import AssayError, MissingDependency, UsageError
from assay.core.home import Home
from assay.records import RunFolder, TrialFolder
from assay.records.lease import LEASE_TIMEOUT
from assay.runs import worker
from assay.runs.executors.cluster import Cluster, Job
from assay.runs.job import PREEMPTED, JobSpec
from assay.runs.retry import Retries

if TYPE_CHECKING:
    from assay.runs.executors.config import ExecutorConfig

try:
    import submitit
except ImportError:
    raise MissingDependency("--on slurm", "slurm") from None

_MARGIN = 30 * 60
"""Seconds that a job may take beyond its trial's time budget, for fetching data and for grading."""
_RESERVED = ("job_name", "array", "output", "error", "signal", "nodes", "ntasks_per_node")
_NOTICE = 90
_ANSWER = 60
_PYTHON = f"{shlex.quote(sys.executable)} -P"
"""Jobs start in the current folder, which may be a stranger's: nothing is imported from there."""


class Slurm(Cluster):
    """A Slurm cluster whose machines share the run's folder, and Python with Assay in it."""

    poll_seconds = 5.0

    def __init__(
        self,
        run: RunFolder,
        home: Home,
        *,
        options: Mapping[str, str] | None = None,
        source: Path | None = None,
        lapse: float = LEASE_TIMEOUT,
    ) -> None:
        super().__init__(home, source=source, lapse=lapse)
        if missing := [program for program in ("sbatch", "srun", "squeue", "scancel") if shutil.which(program) is None]:
            raise AssayError(f"--on slurm: {missing[0]} is not on this machine; run this where Slurm is installed")
        self._folder = run.path.absolute() / "slurm"
        self._options = {name.replace("-", "_"): value for name, value in (options or {}).items()}
        if wrong := [name for name in self._options if name in _RESERVED]:
            raise UsageError(f"slurm.{wrong[0]}: this option is set by Assay")
        if not self._options.get("time", "1").isdecimal():
            raise UsageError("slurm.time: not a number of minutes")

    @classmethod
    def from_config(
        cls, config: "ExecutorConfig", run: RunFolder, home: Home, *, cores: int | None, retries: Retries
    ) -> Self:
        """Create the executor that a configuration describes."""
        return cls(run, home, options=config.slurm, source=config.data_source, lapse=config.lease)

    @property
    def description(self) -> str:
        """The scheduler's name."""
        return "Slurm"

    def submit(self, jobs: Sequence[Job]) -> Sequence[str]:
        """Submit the jobs, those with equal requirements as one array."""
        ids: dict[int, str] = {}
        arrays: dict[str, list[int]] = defaultdict(list)
        for index, job in enumerate(jobs):
            arrays[str(sorted(self._parameters(job).items(), key=str))].append(index)
        for indexes in arrays.values():
            executor = submitit.SlurmExecutor(folder=self._folder / "%j", max_num_timeout=1000, python=_PYTHON)
            executor.update_parameters(**self._parameters(jobs[indexes[0]]))
            try:
                with executor.batch():
                    submitted = [executor.submit(TrialJob(jobs[index].spec)) for index in indexes]
            except (submitit.core.utils.FailedJobError, submitit.core.utils.FailedSubmissionError) as error:
                raise AssayError(f"Slurm rejected the jobs: {error}") from None
            for index, submission in zip(indexes, submitted, strict=True):
                ids[index] = submission.job_id
                atomic_write(jobs[index].folder.path / "job", f"{submission.job_id}\n")
        return [ids[index] for index in range(len(jobs))]

    def find_alive(self, ids: Iterable[str]) -> set[str] | None:
        """Return the ids of jobs that are pending, running or completing."""
        states = self._states()
        return None if states is None else {id for id in ids if id in states}

    def find_running(self, jobs: Mapping[TrialFolder, str]) -> set[TrialFolder]:
        """Return the trials whose jobs are not pending."""
        states = self._states()
        return {folder for folder, id in jobs.items() if states is None or states.get(id, "") != "PENDING"}

    def cancel(self, jobs: Mapping[TrialFolder, str]) -> None:
        """Cancel pending jobs, and ask running ones to stop."""
        for option in ("--state=PENDING", "--signal=INT") if jobs else ():
            subprocess.run(["scancel", option, *jobs.values()], capture_output=True, check=False, timeout=_ANSWER)

    def _states(self) -> dict[str, str] | None:
        """Return the states of the user's unfinished jobs by id, or None while Slurm does not answer."""
        command = ["squeue", "--me", "--array", "--noheader", "--format=%i %T"]
        try:
            answer = subprocess.run(command, capture_output=True, text=True, timeout=_ANSWER)
        except subprocess.TimeoutExpired:
            return None
        if answer.returncode != 0:
            return None
        return dict(line.split() for line in answer.stdout.splitlines())

    def _parameters(self, job: Job) -> dict[str, Any]:
        """Return what a job requests; the user's options override ours."""
        resources = job.file.resources
        parameters: dict[str, Any] = {
            "job_name": "assay",
            "cpus_per_task": resources.cores,
            "mem": f"{math.ceil(job.memory / 2**20)}M",
            "time": math.ceil((job.file.budget.time + _MARGIN) / 60),
            "signal_delay_s": _NOTICE,
            "stderr_to_stdout": True,
        }
        if resources.gpus and not job.exclusive:
            parameters["gpus_per_node"] = resources.gpus
        if job.exclusive:
            parameters["exclusive"] = True
        known = submitit.SlurmExecutor._valid_parameters()
        parameters |= {name: _parse_value(text) for name, text in self._options.items() if name in known}
        others = {name.replace("_", "-"): text for name, text in self._options.items() if name not in known}
        # Requeue a job whose machine dies, whatever the cluster's default.
        return parameters | {"additional_parameters": {"requeue": True, **others}}


class TrialJob:
    """The function of a job: starts the trial's process and forwards Slurm's signals to it."""

    def __init__(self, spec: JobSpec) -> None:
        self._spec = spec
        self._process: subprocess.Popen[bytes] | None = None

    def __call__(self) -> int:
        """Run the trial's process to its end."""
        signal.signal(signal.SIGINT, self._stop)
        signal.signal(signal.SIGTERM, self._vacate)
        self._process = worker.start(self._spec)
        self._await_end()
        return self._process.wait()

    def checkpoint(self) -> "submitit.helpers.DelayedSubmission":
        """Stop the trial at its last snapshot; the requeued job resumes from there."""
        self._signal(PREEMPTED)
        self._await_end()
        return submitit.helpers.DelayedSubmission(TrialJob(self._spec.model_copy(update={"expired": None})))

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._signal(signal.SIGTERM)

    def _vacate(self, number: int, frame: FrameType | None) -> None:
        """Stop the trial, then wait to be killed: Slurm requeues only jobs that have not ended by themselves."""
        self._signal(PREEMPTED)
        self._await_end()
        while True:
            signal.pause()

    def _signal(self, number: int) -> None:
        if self._process:
            self._process.send_signal(number)

    def _await_end(self) -> None:
        """Wait without reaping: signal handlers also wait, in the middle of this, so no lock may be held."""
        if self._process:
            with suppress(ChildProcessError):
                os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)


def _parse_value(text: str) -> str | int | bool:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    return int(text) if text.isdecimal() else text
