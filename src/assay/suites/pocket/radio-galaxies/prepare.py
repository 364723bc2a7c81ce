"""Radio galaxies: the center of each image at a third of the resolution, turned at random, and a new split."""

import zipfile

import numpy as np
import polars as pl

from assay.data.job import PrepareJob
from assay.data.polars_tables import write_split
from assay.formats.png import read_png, write_png

CLASSES = ["Bent", "Compact", "FRI", "FRII"]
TRAIN = 800
SEED = 20278


def prepare(job: PrepareJob) -> None:
    """Number the images after shuffling: their names are positions in the sky, which could be looked up."""
    random = np.random.RandomState(SEED)
    with zipfile.ZipFile(job.raw / "firstgalaxydata/galaxy_data.zip") as archive:
        members = sorted(name for name in archive.namelist() if "/all/" in name and name.endswith(".png"))
        images = [reduce(read_png(archive.read(name))) for name in members]
    labels = np.array([CLASSES.index(name.split("/")[-2]) for name in members])
    order = random.permutation(len(images))
    sides = {}
    for side, rows in (("train", order[:TRAIN]), ("test", order[TRAIN:])):
        names = [f"{side}/{number:04d}.png" for number in range(len(rows))]
        for name, row in zip(names, rows, strict=True):
            write_png(job.public / name, np.ascontiguousarray(np.rot90(images[row], random.randint(4))))
        sides[side] = pl.DataFrame({"image": names, "label": labels[rows]})
    write_split(sides["train"], sides["test"], id="image", sample={"label": 3}, public=job.public, private=job.private)


def reduce(pixels: np.ndarray) -> np.ndarray:
    """Return the middle half of an image as 50 x 50 means of 3 x 3 pixels."""
    gray = pixels if pixels.ndim == 2 else pixels[:, :, 0]
    middle = gray[75:225, 75:225].astype(np.float64)
    return middle.reshape(50, 3, 50, 3).mean(axis=(1, 3)).round().astype(np.uint8)
