"""Automated essay scoring 2.0: graded essays split at random."""

import numpy as np

from assay.data import pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_rows


def prepare(job: PrepareJob) -> None:
    """Write a sample submission of random grades, always the same ones."""
    essays = pandas_tables.read(job.raw / "train.csv")
    pandas_tables.check_columns(essays.drop(columns="score"), ["essay_id", "full_text"], "train.csv without score")
    train, test = pandas_tables.split(essays, random_rows(len(essays), test=0.1, seed=0))
    pandas_tables.write(train, job.public / "train.csv")
    pandas_tables.write(test.drop(columns="score"), job.public / "test.csv")
    grades = np.random.RandomState(42).randint(1, 7, size=len(test))
    pandas_tables.write(test[["essay_id"]].assign(score=grades), job.public / "sample_submission.csv")
    pandas_tables.write(test, job.private / "answers.csv")
