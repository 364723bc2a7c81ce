"""Shared by tasks that are graded by speed: the slow reference implementation and an example to check against."""

import shutil
from collections.abc import Mapping
from typing import Any

import numpy as np

from assay.data.job import PrepareJob
from assay.tasks import load_plugin


def write_example(job: PrepareJob, file: str, function: str, arguments: Mapping[str, Any]) -> None:
    """Write the starter code as the reference, publicly and privately, and its output for one example input."""
    starter = job.task.path("starter") / file
    shutil.copyfile(starter, job.private / "reference.py")
    shutil.copyfile(starter, job.public / "reference.py")
    output = getattr(load_plugin(starter), function)(*arguments.values())
    np.savez(job.public / "example.npz", **arguments, output=output)
