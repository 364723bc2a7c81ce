"""LMSYS chatbot arena: pairs of answers and the users' votes, split at random."""

from assay.data import pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_rows


def prepare(job: PrepareJob) -> None:
    """Publish only the texts of the test rows, not which models wrote them."""
    votes = pandas_tables.scan(job.raw / "train.csv", scratch=job.private)
    train, test = pandas_tables.split(votes, random_rows(len(votes), test=0.1, seed=0))
    pandas_tables.write(train, job.public / "train.csv")
    pandas_tables.write(test[["id", "prompt", "response_a", "response_b"]], job.public / "test.csv")
    sample = pandas_tables.sample(test, "id", dict.fromkeys(job.columns, 1 / 3))
    pandas_tables.write(sample, job.public / "sample_submission.csv")
    pandas_tables.write(test, job.private / "answers.csv")
