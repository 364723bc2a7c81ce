"""Jobs on trials as drivers and executors see them, without what the process of a trial has to import."""

import signal
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from assay.records.lease import LEASE_TIMEOUT

JobKind = Literal["run", "grade"]
"""What a process can do with a trial."""
PREEMPTED = signal.SIGUSR1
"""The signal that a trial gets when its machine is taken away; it continues on another one."""
TAKEN = 75
"""The exit code of a process whose trial another process holds."""
UNRECORDED = 74
"""The exit code of a process that could not write the record of its trial."""
GRACE = 20.0
"""Seconds from asking a process to stop to killing it."""
TICK = 0.5


class Taken(Exception):
    """Another process holds the trial, or may hold it."""


class JobSpec(BaseModel):
    """Which job to run on which trial, and where files are on the machine that runs it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: JobKind
    trial: Path
    home: Path
    source: Path | None = None
    lapse: float = LEASE_TIMEOUT
    overdue: float = 1800.0
    expired: tuple[int, str] | None = None
    folder: Path | None = None
    """The driver's working directory, which relative paths of tasks and agents refer to."""
