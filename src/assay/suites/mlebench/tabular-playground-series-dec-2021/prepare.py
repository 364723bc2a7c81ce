"""Tabular playground December 2021: the forest cover of 4 million synthetic patches of land."""

from assay.data import pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_rows


def prepare(job: PrepareJob) -> None:
    """Use a random tenth as the test set; ids stay as they are."""
    patches = pandas_tables.scan(job.raw / "train.csv", scratch=job.private)
    train, test = pandas_tables.split(patches, random_rows(len(patches), test=0.1, seed=0))
    pandas_tables.write_csv_split(
        train, test, public=job.public, private=job.private, id="Id", sample={"Cover_Type": 2}
    )
