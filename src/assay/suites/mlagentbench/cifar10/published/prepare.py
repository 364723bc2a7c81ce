"""CIFAR-10 as published: the archive's batches in their own order, without the labels of the test images."""

import numpy as np
import polars as pl

from assay.data.job import PrepareJob
from assay.data.polars_tables import write

from ..prepare import TEST, TRAIN, Images, Labels, read_sides

FOLDER = "cifar-10-batches-bin"
HIDDEN = 255
CLASSES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]


def prepare(job: PrepareJob) -> None:
    """Write the archive's binary form: torchvision's pickled batches hold the same, but nothing here is unpickled.

    In the place of a test image's label is 255. The published workspace has the labels.
    """
    (images, labels), (unseen, answers) = read_sides(job.raw)
    folder = job.public / FOLDER
    folder.mkdir()
    batches = zip(TRAIN, np.array_split(images, len(TRAIN)), np.array_split(labels, len(TRAIN)), strict=True)
    for name, pictures, classes in [*batches, (TEST[0], unseen, np.full_like(answers, HIDDEN))]:
        (folder / f"{name}.bin").write_bytes(_records(pictures, classes))
    (folder / "batches.meta.txt").write_text("".join(f"{name}\n" for name in CLASSES))
    index = pl.Series("index", np.arange(len(answers)))
    truth = [(answers == number).astype(np.int64) for number in range(len(CLASSES))]
    write(_table(index, truth), job.private / "answers.csv")
    write(_table(index, [np.full(len(answers), 0.1)] * len(CLASSES)), job.private / "sample_submission.csv")


def _records(images: Images, labels: Labels) -> bytes:
    """Return records of one byte for the label, then the red, green and blue planes, row by row."""
    planes = images.transpose(0, 3, 1, 2).reshape(len(images), -1)
    return np.column_stack([labels.astype(np.uint8), planes]).tobytes()


def _table(index: pl.Series, columns: list[Labels]) -> pl.DataFrame:
    return pl.DataFrame([index, *(pl.Series(str(number), column) for number, column in enumerate(columns))])
