"""Makes the spooky-author task: sentences, and which of three authors wrote them."""

from assay.data import archives, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_rows

# The shares of the authors among all labelled sentences.
SAMPLE = {"EAP": 0.403493538995863, "HPL": 0.287808366106543, "MWS": 0.308698094897594}


def prepare(job: PrepareJob) -> None:
    """The answers have one column per author, 1 for who wrote the sentence; `v1` appends an author who is not known."""
    with archives.open_member(job.raw / "train.zip", "train.csv") as file:
        sentences = pandas_tables.read(file)
    train, test = pandas_tables.split(sentences, random_rows(len(sentences), test=0.1, seed=0))
    pandas_tables.write(train, job.public / "train.csv")
    pandas_tables.write(test.drop(columns="author"), job.public / "test.csv")
    answers = pandas_tables.one_hot(test, "id", "author", list(SAMPLE), append_unlisted=job.edition == "v1")
    pandas_tables.write(answers, job.private / "test.csv")
    pandas_tables.write(answers.assign(**SAMPLE), job.public / "sample_submission.csv")
