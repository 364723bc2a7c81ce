"""Dog breed identification: labeled photographs split at random; the answers have one column per breed."""

from assay.data import files, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_rows


def prepare(job: PrepareJob) -> None:
    """Use the columns of a submission as the list of breeds, whether or not all occur in the raw labels."""
    breeds = job.columns
    labels = pandas_tables.read(job.raw / "labels.csv")
    train, test = pandas_tables.split(labels, random_rows(len(labels), test=0.1, seed=0))
    pandas_tables.write(train, job.public / "labels.csv")
    pandas_tables.write(pandas_tables.one_hot(test, "id", "breed", breeds), job.private / "test.csv")
    sample = pandas_tables.sample(test, "id", dict.fromkeys(breeds, 1 / len(breeds)))
    pandas_tables.write(sample, job.public / "sample_submission.csv")
    for side, table in (("train", train), ("test", test)):
        files.copy_by_id(job.raw / "train", job.public / side, table["id"], ".jpg")
