"""Tabular playground May 2022: rows of anonymous features with a binary target."""

from assay.data import pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_rows

TEST = 100_000


def prepare(job: PrepareJob) -> None:
    """Use 100,000 rows as the test set; rows are renumbered in the order of the split, test after training."""
    rows = pandas_tables.scan(job.raw / "train.csv", scratch=job.private)
    train, test = pandas_tables.split(rows, random_rows(len(rows), test=TEST, seed=0))
    first = len(rows) - TEST
    train, test = train.assign(id=range(len(train))), test.assign(id=range(first, first + len(test)))
    pandas_tables.write_csv_split(train, test, public=job.public, private=job.private, id="id", sample={"target": 0.5})
    pandas_tables.write(test[["id", "target"]], job.private / "gold_submission.csv")
