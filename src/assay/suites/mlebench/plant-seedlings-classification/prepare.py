"""Plant seedlings classification: photographs of seedlings, the training ones in a folder per species."""

import pandas as pd

from assay.data import files, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_rows


def prepare(job: PrepareJob) -> None:
    """Use 14 % of the photographs as the test set; the raw folders are the only labels."""
    folders = sorted(path.name for path in (job.raw / "train").iterdir() if path.is_dir())
    photos = [
        (path.name, species) for species in folders for path in files.list_files(job.raw / "train" / species, ".png")
    ]
    table = pd.DataFrame(photos, columns=["file", "species"])
    train, test = pandas_tables.split(table, random_rows(len(table), test=0.14, seed=0))
    pandas_tables.write(test, job.private / "answers.csv")
    pandas_tables.write(
        pandas_tables.sample(test, "file", {"species": "Sugar beet"}), job.public / "sample_submission.csv"
    )
    pairs = train.itertuples(index=False, name=None)
    files.copy((job.raw / "train" / species / file, job.public / "train" / species / file) for file, species in pairs)
    pairs = test.itertuples(index=False, name=None)
    files.copy((job.raw / "train" / species / file, job.public / "test" / file) for file, species in pairs)
