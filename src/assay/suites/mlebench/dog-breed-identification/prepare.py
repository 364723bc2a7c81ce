"""Makes the dog-breed-identification task: labelled photographs split at random, with a column for each breed."""

from assay.data import files, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_rows


def prepare(job: PrepareJob) -> None:
    """The breeds are those that a submission has columns for, whether or not they occur in the raw labels."""
    breeds = job.columns
    labels = pandas_tables.read(job.raw / "labels.csv")
    train, test = pandas_tables.split(labels, random_rows(len(labels), test=0.1, seed=0))
    pandas_tables.write(train, job.public / "labels.csv")
    pandas_tables.write(pandas_tables.one_hot(test, "id", "breed", breeds), job.private / "test.csv")
    pandas_tables.write(
        pandas_tables.sample(test, "id", dict.fromkeys(breeds, 1 / len(breeds))), job.public / "sample_submission.csv"
    )
    for side, table in (("train", train), ("test", test)):
        names = [f"{id}.jpg" for id in table["id"]]
        files.copy((job.raw / "train" / name, job.public / side / name) for name in names)
