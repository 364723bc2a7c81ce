"""Digits: 8 × 8 images of handwritten digits, few of them labeled."""

import numpy as np
import polars as pl

from assay.data.job import PrepareJob
from assay.data.polars_tables import write_split
from assay.data.splits import random_rows
from assay.formats.png import write_png

TRAIN = 200
SEED = 20261


def prepare(job: PrepareJob) -> None:
    """Read the raw file, whose lines hold the 64 levels of an image, 0 to 16, and its digit."""
    table = np.loadtxt(job.raw / "sklearn/datasets/data/digits.csv.gz", delimiter=",", dtype=np.uint8)
    sides = {}
    for side, rows in random_rows(len(table), train=TRAIN, seed=SEED)._asdict().items():
        names = [f"{side}/{number:04d}.png" for number in range(len(rows))]
        for name, row in zip(names, rows, strict=True):
            write_png(job.public / name, table[row, :64].reshape(8, 8) * np.uint8(15))
        sides[side] = pl.DataFrame({"image": names, "label": table[rows, 64]})
    write_split(sides["train"], sides["test"], id="image", sample={"label": 0}, public=job.public, private=job.private)
