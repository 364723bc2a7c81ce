"""Leaf outlines: a new split; each outline starts at a random point, so that the start tells nothing."""

import numpy as np
import polars as pl

from assay.data.job import PrepareJob
from assay.data.polars_tables import take, with_id, write_split
from assay.data.splits import random_rows

TRAIN = 160
SEED = 20276


def prepare(job: PrepareJob) -> None:
    """Rotate and split the outlines."""
    folder = job.raw / "aeon/datasets/data/OSULeaf"
    lines = [
        line.partition(":")
        for name in ("OSULeaf_TRAIN.ts", "OSULeaf_TEST.ts")
        for line in (folder / name).read_text().partition("@data\n")[2].split()
    ]
    outlines = [values.split(",") for values, _, _ in lines]
    random = np.random.RandomState(SEED)
    starts = random.randint(0, len(outlines[0]), len(outlines)).tolist()
    rotated = [values[start:] + values[:start] for values, start in zip(outlines, starts, strict=True)]
    columns = {f"d{position}": [values[position] for values in rotated] for position in range(len(rotated[0]))}
    leaves = pl.DataFrame({**columns, "species": [species for _, _, species in lines]})
    train, test = (take(leaves, rows) for rows in random_rows(leaves.height, train=TRAIN, seed=SEED))
    train, test = with_id(train, "leaf", range(TRAIN)), with_id(test, "leaf", range(TRAIN, leaves.height))
    write_split(train, test, id="leaf", sample={"species": 1}, public=job.public, private=job.private)
