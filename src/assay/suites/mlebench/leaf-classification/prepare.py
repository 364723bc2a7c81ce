"""Makes the leaf-classification task: labelled leaves split at random, with a column for each species."""

from assay.data import archives, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_rows


def prepare(job: PrepareJob) -> None:
    """The species are those that a submission has columns for; `v1` appends any other that is in the test.

    An empty folder for pictures is among the private files, as published.
    """
    species = job.columns
    with archives.open_member(job.raw / "train.csv.zip", "train.csv") as file:
        leaves = pandas_tables.read(file)
    train, test = pandas_tables.split(leaves, random_rows(len(leaves), test=0.1, seed=0))
    pandas_tables.write(train, job.public / "train.csv")
    pandas_tables.write(test.drop(columns="species"), job.public / "test.csv")
    answers = pandas_tables.one_hot(test, "id", "species", species, append_unlisted=job.edition == "v1")
    pandas_tables.write(answers, job.private / "test.csv")
    pandas_tables.write(
        answers.assign(**dict.fromkeys(species, 1 / len(species))), job.public / "sample_submission.csv"
    )
    (job.private / "images").mkdir()
    names = [f"images/{id}.jpg" for id in leaves["id"]]
    archives.extract(job.raw / "images.zip", ((name, job.public / name) for name in names))
