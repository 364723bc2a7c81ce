"""A miniature of the May 2022 playground: a few more rows than the 100,000 of the test set, and few of the columns."""

import numpy as np

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

ROWS = 100_400


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Write one feature of each kind to keep so many rows fast; two of them interact, and letters matter."""
    letters = make.rng.integers(0, 6, (ROWS, 10), dtype=np.uint8) + ord("A")
    first, second = make.rng.normal(0, 1, (2, ROWS)).round(3)
    signal = 2 * first * second + (letters[:, 0] == ord("A")) - 0.2 + make.rng.normal(0, 0.1, ROWS)
    make.csv(
        job.raw / "train.csv",
        {
            "id": range(ROWS),
            "f_00": first,
            "f_07": make.rng.poisson(2, ROWS),
            "f_19": second,
            "f_27": letters.view("S10").ravel().astype(str),
            "f_28": make.rng.normal(0, 240, ROWS).round(3),
            "f_30": make.labels(ROWS, 3),
            "target": (signal > 0).astype(int),
        },
    )
