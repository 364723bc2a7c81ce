"""Spaceship Titanic as published: the first four fifths of the passengers for training, the rest for the test."""

from assay.data.job import PrepareJob
from assay.data.polars_tables import take, write_split
from assay.data.splits import first_rows

from ..prepare import TRAIN, read_passengers


def prepare(job: PrepareJob) -> None:
    """Write the published files, a sample submission for the test rows among them."""
    people = read_passengers(job.raw)
    train, test = (take(people, rows) for rows in first_rows(people.height, train=TRAIN))
    sample = {"Transported": False}
    write_split(train, test, id="PassengerId", sample=sample, public=job.public, private=job.private)
