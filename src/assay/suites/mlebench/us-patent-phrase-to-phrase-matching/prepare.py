"""U.S. patent phrase to phrase matching: rated pairs of phrases split at random."""

from assay.data import pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_rows


def prepare(job: PrepareJob) -> None:
    """Split pair by pair, as the competition did; `fixed` keeps phrases that pandas reads as missing."""
    pairs = pandas_tables.read(job.raw / "train.csv", keep_default_na=job.edition == "v1")
    train, test = pandas_tables.split(pairs, random_rows(len(pairs), test=0.1, seed=0))
    pandas_tables.write_csv_split(train, test, id="id", sample={"score": 0}, public=job.public, private=job.private)
