"""Spaceship Titanic: passengers with the ship's records about them."""

from assay.data import pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_rows_or_groups


def prepare(job: PrepareJob) -> None:
    """Use a random tenth of the passengers as the test set; in `fixed`, of the groups that they travel in."""
    passengers = pandas_tables.read(job.raw / "train.csv")
    groups = [name.partition("_")[0] for name in passengers["PassengerId"]]
    rows = random_rows_or_groups(groups, by_group=job.edition == "fixed", test=0.1, seed=0)
    train, test = pandas_tables.split(passengers, rows)
    pandas_tables.write_csv_split(
        train, test, id="PassengerId", sample={"Transported": False}, public=job.public, private=job.private
    )
