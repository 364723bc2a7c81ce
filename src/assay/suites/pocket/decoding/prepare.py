"""Write an example input with its output, and the slow reference code that submissions are timed against."""

import numpy as np

from assay.data.job import PrepareJob

from ..._shared.speed import write_example
from .cases import draw_input

NAMES = ("prompt", "steps", "embedding", "weights", "feed")


def prepare(job: PrepareJob) -> None:
    """There is no raw data: weights and prompts are random."""
    arguments = draw_input(np.random.default_rng(0), prompt=4, steps=6, width=16, layers=2, tokens=20)
    write_example(job, "decode.py", "decode", dict(zip(NAMES, arguments, strict=True)))
