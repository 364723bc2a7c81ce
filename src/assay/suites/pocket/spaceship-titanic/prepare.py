"""Spaceship Titanic: a new split by travel group, under new passenger numbers."""

from assay.data.job import PrepareJob
from assay.data.polars_tables import random_numbers, read, take, with_id, write_split
from assay.data.splits import random_groups

TEST = 0.4
SEED = 20263


def prepare(job: PrepareJob) -> None:
    """Renumber the travel groups, which start a PassengerId, and keep them whole."""
    folder = job.raw / "classifier_model/dataset"
    passengers = read(folder / "train.csv", folder / "test.csv")
    groups, members = zip(*(name.split("_") for name in passengers["PassengerId"]), strict=True)
    number = random_numbers(groups, seed=SEED)
    fresh = [f"{number[group]:04d}_{member}" for group, member in zip(groups, members, strict=True)]
    passengers = with_id(passengers, "PassengerId", fresh, instead_of="PassengerId")
    train, test = (take(passengers, rows).sort("PassengerId") for rows in random_groups(groups, test=TEST, seed=SEED))
    write_split(train, test, id="PassengerId", sample={"Transported": False}, public=job.public, private=job.private)
