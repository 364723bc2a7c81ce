"""Spooky author identification: sentences, and which of three authors wrote them."""

from assay.data import pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_rows

# The authors' shares of all labeled sentences.
SAMPLE = {"EAP": 0.403493538995863, "HPL": 0.287808366106543, "MWS": 0.308698094897594}


def prepare(job: PrepareJob) -> None:
    """Write answers with one column per author, 1 for the one who wrote the sentence; `v1` appends unknown authors."""
    sentences = pandas_tables.read_zipped(job.raw / "train.zip", "train.csv")
    train, test = pandas_tables.split(sentences, random_rows(len(sentences), test=0.1, seed=0))
    pandas_tables.write(train, job.public / "train.csv")
    pandas_tables.write(test.drop(columns="author"), job.public / "test.csv")
    answers = pandas_tables.one_hot(test, "id", "author", list(SAMPLE), append_unlisted=job.edition == "v1")
    pandas_tables.write(answers, job.private / "test.csv")
    pandas_tables.write(answers.assign(**SAMPLE), job.public / "sample_submission.csv")
