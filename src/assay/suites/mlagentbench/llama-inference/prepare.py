"""Write an example input with its output, and the slow reference code that submissions are timed against."""

import numpy as np

from assay.data.job import PrepareJob

from ..._shared.speed import write_example
from .cases import timed

NAMES = ["prompts", "count", "heads", "embedding", "attention", "gated", "scales", "head"]


def prepare(job: PrepareJob) -> None:
    """The example is of the size that is timed; there is no raw data."""
    arguments = dict(zip(NAMES, timed(np.random.default_rng(0)), strict=True))
    write_example(job, "generate.py", "generate", arguments)
