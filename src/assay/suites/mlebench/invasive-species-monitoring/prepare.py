"""Invasive species monitoring: photographs of a forest, packed as the competition packed them."""

from pathlib import Path
from tempfile import TemporaryDirectory

from assay.data import pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_rows
from assay.formats import seven_zip


def prepare(job: PrepareJob) -> None:
    """Use a random fifth of the photographs as the test set; tables go into zip files, photographs into 7z files."""
    labels = pandas_tables.read_zipped(job.raw / "train_labels.csv.zip")
    train, test = pandas_tables.split(labels, random_rows(len(labels), test=0.2, seed=0))
    sample = test.assign(invasive=0.5)
    pandas_tables.write(test, job.private / "answers.csv")
    pandas_tables.write(sample, job.private / "sample_submission.csv")
    pandas_tables.write_zipped(train, job.public / "train_labels.csv.zip")
    pandas_tables.write_zipped(sample, job.public / "sample_submission.csv.zip")
    with TemporaryDirectory(dir=job.private) as folder:
        seven_zip.extract(job.raw / "train.7z", Path(folder))
        for side, table in (("train", train), ("test", test)):
            photographs = ((f"{side}/{name}.jpg", Path(folder, f"train/{name}.jpg")) for name in table["name"])
            seven_zip.pack(job.public / f"{side}.7z", photographs)
