"""Pawpularity: photos of pets with a score and twelve flags, split at random."""

import numpy as np

from assay.core.errors import SourceError
from assay.data import files, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_rows


def prepare(job: PrepareJob) -> None:
    """Split the photos; the sample submission draws its scores uniformly between 1 and 100."""
    photos = pandas_tables.read(job.raw / "train.csv")
    if photos.columns[-1] != "Pawpularity":
        raise SourceError(f"the last column of train.csv is {photos.columns[-1]}; expected is Pawpularity")
    train, test = pandas_tables.split(photos, random_rows(len(photos), test=0.1, seed=0))
    pandas_tables.write(train, job.public / "train.csv")
    pandas_tables.write(test.drop(columns="Pawpularity"), job.public / "test.csv")
    pandas_tables.write(test, job.private / "test.csv")
    scores = np.random.default_rng(0).uniform(1, 100, len(test)).round(2)
    pandas_tables.write(test[["Id"]].assign(Pawpularity=scores), job.public / "sample_submission.csv")
    for side, table in (("train", train), ("test", test)):
        files.copy_by_id(job.raw / "train", job.public / side, table["Id"], ".jpg")
