"""Write an example input with its output, and the slow reference code that submissions are timed against."""

import numpy as np

from assay.data.job import PrepareJob

from ..._shared.convolution import draw_filters
from ..._shared.speed import write_example


def prepare(job: PrepareJob) -> None:
    """There is no raw data: inputs are random arrays."""
    random = np.random.default_rng(0)
    images = random.standard_normal((2, 9, 8, 3))
    filters = draw_filters(random, (4, 3, 2, 3))
    write_example(job, "convolve.py", "convolve", {"images": images, "filters": filters})
