"""Ink detection: two fragments of papyrus for training, and the third for the test."""

import pandas as pd
from PIL import Image

from assay.data import files, pandas_tables
from assay.data.job import PrepareJob

HIDDEN = {"inklabels.png", "inklabels_rle.csv", "ir.png"}


def prepare(job: PrepareJob) -> None:
    """Call fragment 3 `a`, and hide its labels and its infrared photograph, in which ink can be seen."""
    for fragment in ("1", "2"):
        files.copy_tree(job.raw / "train" / fragment, job.public / "train" / fragment)
    folder = job.raw / "train/3"
    scans = [path for path in folder.rglob("*") if path.is_file() and path.name not in HIDDEN]
    files.copy((path, job.public / "test/a" / path.relative_to(folder)) for path in scans)
    with Image.open(folder / "ir.png") as photograph:
        width, height = photograph.size
    labels = pandas_tables.read(folder / "inklabels_rle.csv").assign(width=width, height=height, Id="a")
    pandas_tables.write(labels.drop(columns=["width", "height"]), job.private / "gold_submission.csv")
    pandas_tables.write(labels, job.private / "inklabels_rle.csv")
    sample = pd.DataFrame({"Id": ["a"], "Predicted": ["1 1 5 1"]})
    pandas_tables.write(sample, job.public / "sample_submission.csv")
