"""Feedback as published: the last 2 % of the shuffled essays are the test set."""

import numpy as np
import polars as pl

from assay.data.job import PrepareJob
from assay.data.polars_tables import read, take, write

from ..prepare import TRAITS

TRAIN = 0.98
SEED = 42


def prepare(job: PrepareJob) -> None:
    """Shuffle as pandas' `sample` does with this seed, and keep the new order in both files."""
    essays = read(job.raw / "train.csv")
    order = np.random.RandomState(SEED).permutation(essays.height)
    cut = int(essays.height * TRAIN)
    train, test = take(essays, order[:cut]), take(essays, order[cut:])
    write(train, job.public / "train.csv")
    write(test.drop(TRAITS), job.public / "test.csv")
    write(test.select("text_id", *TRAITS), job.private / "answers.csv")
    constants = (pl.lit("3.0").alias(trait) for trait in TRAITS)
    write(test.select("text_id", *constants), job.public / "sample_submission.csv")
