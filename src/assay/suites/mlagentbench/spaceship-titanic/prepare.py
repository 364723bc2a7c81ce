"""Makes the spaceship-titanic task: the first four fifths of the passengers for training, the rest for the test."""

import numpy as np

from assay.data.job import PrepareJob
from assay.data.polars_tables import read, take, write_split

TRAIN = 0.8
IN_PACKAGE = "classifier_model/dataset"


def prepare(job: PrepareJob) -> None:
    """Passengers are in the order of their numbers, as in Kaggle's file; the package shuffled the ones it holds."""
    package = job.raw / IN_PACKAGE
    paths = [package / "train.csv", package / "test.csv"] if package.is_dir() else [job.raw / "train.csv"]
    passengers = read(*paths).sort("PassengerId")
    sides = np.split(np.arange(passengers.height), [int(TRAIN * passengers.height)])
    train, test = (take(passengers, rows) for rows in sides)
    write_split(train, test, id="PassengerId", sample={"Transported": False}, public=job.public, private=job.private)
