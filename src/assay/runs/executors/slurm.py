"""Trials as jobs of Slurm, through submitit: an array of jobs, one for each trial.

Where Slurm takes a machine away or a job's time is up, the trial is told, stops at its last snapshot, and goes back
into the queue; wherever it starts again, it goes on from there.
"""

import math
import os
import shutil
import signal
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

from assay.core.disk import atomic_write
from assay.core.errors import AssayError, UsageError
from assay.core.home import Home
from assay.records import RunFolder, TrialFolder
from assay.records.lease import LAPSE
from assay.runs import worker
from assay.runs.executors.cluster import Cluster, Job
from assay.runs.trial import PREEMPTED
from assay.runs.worker import JobSpec

try:
    import submitit
except ImportError:
    raise AssayError("--on slurm needs submitit; install it with: pip install 'assay[slurm]'") from None

_MARGIN = 30 * 60
"""Seconds a job may take beyond its trial's budget, for fetching data and for grading."""
_OURS = ("job_name", "array", "output", "error", "signal", "nodes", "ntasks_per_node")
_NOTICE = 90
_ANSWER = 60


class Slurm(Cluster):
    """A Slurm cluster whose machines share the run's folder, and Python with Assay in it."""

    patience = 5.0

    def __init__(
        self,
        run: RunFolder,
        home: Home,
        *,
        options: Mapping[str, str] | None = None,
        source: Path | None = None,
        lapse: float = LAPSE,
    ) -> None:
        super().__init__(home, source=source, lapse=lapse)
        if missing := [program for program in ("sbatch", "srun", "squeue", "scancel") if shutil.which(program) is None]:
            raise AssayError(f"--on slurm: there is no {missing[0]} on this machine; call it where Slurm is installed")
        self._folder = run.path.absolute() / "slurm"
        self._options = {name.replace("-", "_"): value for name, value in (options or {}).items()}
        if wrong := [name for name in self._options if name in _OURS]:
            raise UsageError(f"--slurm {wrong[0]}: this is decided by Assay")
        if not self._options.get("time", "1").isdecimal():
            raise UsageError("--slurm time: write a number of minutes")

    @property
    def place(self) -> str:
        """Its name."""
        return "Slurm"

    def submit(self, errands: Sequence[Job]) -> Sequence[str]:
        """Submit errands that need the same as one array."""
        names: dict[int, str] = {}
        alike: dict[str, list[int]] = defaultdict(list)
        for place, errand in enumerate(errands):
            alike[str(sorted(self._needs(errand).items(), key=str))].append(place)
        for places in alike.values():
            executor = submitit.SlurmExecutor(folder=self._folder / "%j", max_num_timeout=1000)
            executor.update_parameters(**self._needs(errands[places[0]]))
            try:
                with executor.batch():
                    jobs = [executor.submit(TrialJob(errands[place].order)) for place in places]
            except (submitit.core.utils.FailedJobError, submitit.core.utils.FailedSubmissionError) as error:
                raise AssayError(f"Slurm did not take the jobs: {error}") from None
            for place, submitted in zip(places, jobs, strict=True):
                names[place] = submitted.job_id
                atomic_write(errands[place].folder.path / "job", f"{submitted.job_id}\n")
        return [names[place] for place in range(len(errands))]

    def present(self, names: Iterable[str]) -> set[str] | None:
        """Jobs that wait, run, or are about to end."""
        states = self._states()
        return None if states is None else {name for name in names if name in states}

    def begun(self, errands: Mapping[TrialFolder, str]) -> set[TrialFolder]:
        """Those whose jobs are not merely waiting."""
        states = self._states()
        return {folder for folder, name in errands.items() if states is None or states.get(name, "") != "PENDING"}

    def cancel(self, errands: Mapping[TrialFolder, str]) -> None:
        """Take back jobs that wait, and ask those that run to stop."""
        for option in ("--state=PENDING", "--signal=INT") if errands else ():
            subprocess.run(["scancel", option, *errands.values()], capture_output=True, check=False, timeout=_ANSWER)

    def _states(self) -> dict[str, str] | None:
        """The states of all of the user's jobs that are not over; None while Slurm does not answer."""
        command = ["squeue", "--me", "--array", "--noheader", "--format=%i %T"]
        try:
            told = subprocess.run(command, capture_output=True, text=True, timeout=_ANSWER)
        except subprocess.TimeoutExpired:
            return None
        if told.returncode != 0:
            return None
        return dict(line.split() for line in told.stdout.splitlines())

    def _needs(self, errand: Job) -> dict[str, Any]:
        """What a job asks for; what the user said about it wins."""
        resources = errand.file.resources
        needs: dict[str, Any] = {
            "job_name": "assay",
            "cpus_per_task": resources.cores,
            "mem": f"{math.ceil(errand.memory / 2**20)}M",
            "time": math.ceil((errand.file.budget.time + _MARGIN) / 60),
            "signal_delay_s": _NOTICE,
            "stderr_to_stdout": True,
        }
        if resources.gpus and not errand.alone:
            needs["gpus_per_node"] = resources.gpus
        if errand.alone:
            needs["exclusive"] = True
        known = submitit.SlurmExecutor._valid_parameters()
        needs |= {name: _value(text) for name, text in self._options.items() if name in known}
        others = {name.replace("_", "-"): text for name, text in self._options.items() if name not in known}
        # A job whose machine dies goes back into the queue, whatever the cluster does by default.
        return needs | {"additional_parameters": {"requeue": True, **others}}


class TrialJob:
    """What runs in a job: it starts the trial's process, and passes on what Slurm tells it."""

    def __init__(self, order: JobSpec) -> None:
        self._order = order
        self._process: subprocess.Popen[bytes] | None = None

    def __call__(self) -> int:
        """Run the trial's process to its end."""
        signal.signal(signal.SIGINT, self._stop)
        signal.signal(signal.SIGTERM, self._make_way)
        self._process = worker.start(self._order)
        self._await_end()
        return self._process.wait()

    def checkpoint(self) -> "submitit.helpers.DelayedSubmission":
        """Have the trial stop at its last snapshot; wherever this runs next, it goes on from there."""
        self._tell(PREEMPTED)
        self._await_end()
        return submitit.helpers.DelayedSubmission(TrialJob(self._order.model_copy(update={"expired": None})))

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._tell(signal.SIGTERM)

    def _make_way(self, number: int, frame: FrameType | None) -> None:
        """Slurm wants the machine and will end this job: only if it has not ended by itself, it is queued again."""
        self._tell(PREEMPTED)
        self._await_end()
        while True:
            signal.pause()

    def _tell(self, number: int) -> None:
        if self._process:
            self._process.send_signal(number)

    def _await_end(self) -> None:
        """Wait without reaping: handlers of signals wait too, in the middle of this, and no lock must be held."""
        if self._process:
            with suppress(ChildProcessError):
                os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)


def _value(text: str) -> str | int | bool:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    return int(text) if text.isdecimal() else text
