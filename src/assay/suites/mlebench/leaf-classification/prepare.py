"""Leaf classification: labeled leaves split at random; the answers have one column per species."""

from assay.data import archives, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_rows


def prepare(job: PrepareJob) -> None:
    """Use the columns of a submission as the list of species; `v1` appends any other species of the test set.

    As published, the private files contain an empty folder for images.
    """
    species = job.columns
    leaves = pandas_tables.read_zipped(job.raw / "train.csv.zip")
    train, test = pandas_tables.split(leaves, random_rows(len(leaves), test=0.1, seed=0))
    pandas_tables.write(train, job.public / "train.csv")
    pandas_tables.write(test.drop(columns="species"), job.public / "test.csv")
    answers = pandas_tables.one_hot(test, "id", "species", species, append_unlisted=job.edition == "v1")
    pandas_tables.write(answers, job.private / "test.csv")
    sample = answers.assign(**dict.fromkeys(species, 1 / len(species)))
    pandas_tables.write(sample, job.public / "sample_submission.csv")
    (job.private / "images").mkdir()
    names = [f"images/{id}.jpg" for id in leaves["id"]]
    archives.extract(job.raw / "images.zip", ((name, job.public / name) for name in names))
