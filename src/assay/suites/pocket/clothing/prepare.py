"""Clothing: a small sample of the images, few of them labeled."""

import json

import numpy as np
import polars as pl

from assay.data.job import PrepareJob
from assay.data.polars_tables import write_split
from assay.formats.png import write_png

TRAIN, TEST = 1000, 2000
SEED = 20277


def prepare(job: PrepareJob) -> None:
    """Read the images of each class, and draw from all of them together."""
    images, labels = [], []
    for label in range(10):
        rows = json.loads((job.raw / f"package/src/clothes/{label}.json").read_bytes())["data"]
        complete = [row for row in rows if len(row) == 28 * 28]  # the last one of a file is cut off
        images.append(np.unique(np.array(complete, dtype=np.uint8), axis=0))
        labels.append(np.full(len(images[-1]), label))
    pixels, classes = np.concatenate(images), np.concatenate(labels)
    chosen = np.random.RandomState(SEED).permutation(len(pixels))[: TRAIN + TEST]
    sides = {}
    for side, rows in (("train", chosen[:TRAIN]), ("test", chosen[TRAIN:])):
        names = [f"{side}/{number:04d}.png" for number in range(len(rows))]
        for name, row in zip(names, rows, strict=True):
            write_png(job.public / name, pixels[row].reshape(28, 28))
        sides[side] = pl.DataFrame({"image": names, "label": classes[rows]})
    write_split(sides["train"], sides["test"], id="image", sample={"label": 0}, public=job.public, private=job.private)
