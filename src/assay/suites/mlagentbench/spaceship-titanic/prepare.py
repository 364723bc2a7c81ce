"""Spaceship Titanic: the first four fifths of the passengers for training, the rest for the test."""

from pathlib import Path

import polars as pl

from assay.data.job import PrepareJob
from assay.data.polars_tables import read, take, write_split
from assay.data.splits import first_rows

TRAIN = 0.8
IN_PACKAGE = "classifier_model/dataset"


def prepare(job: PrepareJob) -> None:
    """Split in the order of the passengers' numbers."""
    passengers = read_passengers(job.raw)
    train, test = (take(passengers, rows) for rows in first_rows(passengers.height, train=TRAIN))
    write_split(train, test, id="PassengerId", sample={"Transported": False}, public=job.public, private=job.private)


def read_passengers(raw: Path) -> pl.DataFrame:
    """Read the labeled passengers sorted by number, as in Kaggle's file; the package shuffled them."""
    package = raw / IN_PACKAGE
    paths = [package / "train.csv", package / "test.csv"] if package.is_dir() else [raw / "train.csv"]
    return read(*paths).sort("PassengerId")
