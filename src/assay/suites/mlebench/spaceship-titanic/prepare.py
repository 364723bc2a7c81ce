"""Makes the spaceship task: passengers with the ship's records about them."""

from assay.data import pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_groups, random_rows


def prepare(job: PrepareJob) -> None:
    """A random tenth is the test: of the passengers in `v1`, of the groups they travel in with `fixed`."""
    passengers = pandas_tables.read(job.raw / "train.csv")
    if job.edition == "fixed":
        groups = [name.partition("_")[0] for name in passengers["PassengerId"]]
        rows = random_groups(groups, test=0.1, seed=0)
    else:
        rows = random_rows(len(passengers), test=0.1, seed=0)
    train, test = pandas_tables.split(passengers, rows)
    pandas_tables.write_csv_split(
        train, test, id="PassengerId", sample={"Transported": False}, public=job.public, private=job.private
    )
