"""Detecting insults: the competition's own split, whose labels were released."""

from assay.core.errors import SourceError
from assay.data import files, pandas_tables
from assay.data.job import PrepareJob

COLUMNS = ["Insult", "Date", "Comment"]


def prepare(job: PrepareJob) -> None:
    """Copy the labeled files byte for byte; a row's id is its comment."""
    train, test = pandas_tables.read(job.raw / "train.csv"), pandas_tables.read(job.raw / "test_with_solutions.csv")
    pandas_tables.check_columns(train, COLUMNS, "train.csv")
    pandas_tables.check_columns(test, [*COLUMNS, "Usage"], "test_with_solutions.csv")
    if train["Comment"].isin(test["Comment"]).any():
        raise SourceError("a comment of test_with_solutions.csv is also in train.csv")
    files.copy([
        (job.raw / "train.csv", job.public / "train.csv"),
        (job.raw / "test_with_solutions.csv", job.private / "test.csv"),
    ])  # fmt: skip
    gold = test.drop(columns="Usage")
    pandas_tables.write(gold, job.private / "gold_submission.csv")
    pandas_tables.write(gold.drop(columns="Insult"), job.public / "test.csv")
    pandas_tables.write(gold.assign(Insult=0), job.public / "sample_submission_null.csv")
