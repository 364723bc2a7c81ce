"""Generate the waves task."""

import numpy as np
import polars as pl

from assay.data import PrepareJob
from assay.data.polars_tables import take, write_split
from assay.data.splits import random_rows

POINTS = 600


def prepare(job: PrepareJob) -> None:
    """Draw points at random and hide the heights of a third of them."""
    random = np.random.default_rng(7)
    a, b = random.uniform(0, 6, POINTS).round(4), random.uniform(0, 6, POINTS).round(4)
    height = (np.sin(a) + np.cos(b) + random.normal(0, 0.2, POINTS)).round(4)
    waves = pl.DataFrame({"point": range(POINTS), "a": a, "b": b, "height": height})
    train, test = (take(waves, rows) for rows in random_rows(POINTS, test=1 / 3, seed=7))
    write_split(train, test, id="point", sample={"height": 0.0}, public=job.public, private=job.private)
