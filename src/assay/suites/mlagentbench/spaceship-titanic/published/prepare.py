"""Spaceship Titanic as published: the first four fifths of the passengers for training, the rest for the test."""

import polars as pl

from assay.data.job import PrepareJob
from assay.data.polars_tables import take, write
from assay.data.splits import first_rows

from ..prepare import TRAIN, read_passengers


def prepare(job: PrepareJob) -> None:
    """Write the published files alone: there is no sample submission among them."""
    passengers = read_passengers(job.raw)
    train, test = (take(passengers, rows) for rows in first_rows(passengers.height, train=TRAIN))
    write(train, job.public / "train.csv")
    write(test.drop("Transported"), job.public / "test.csv")
    write(test.select("PassengerId", "Transported"), job.private / "answers.csv")
    write(test.select("PassengerId", pl.lit("False").alias("Transported")), job.private / "sample_submission.csv")
