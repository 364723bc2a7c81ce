"""Makes the histopathologic-cancer-detection task: labelled patches split at random, in their old order."""

import numpy as np

from assay.data import files, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import Split, random_rows


def prepare(job: PrepareJob) -> None:
    """The test side takes the share of all patches that the competition's own unlabelled test had."""
    labels = pandas_tables.read(job.raw / "train_labels.csv")
    unlabelled = len(files.list_files(job.raw / "test", ".tif"))
    split = random_rows(len(labels), test=unlabelled / (len(labels) + unlabelled), seed=0)
    train, test = pandas_tables.split(labels, Split(*map(np.sort, split)))
    pandas_tables.write_csv_split(
        train, test, id="id", sample={"label": 0}, whole_sample=True, public=job.public, private=job.private,
        train_name="train_labels.csv", test_name=None, answers_name="answers.csv",
    )  # fmt: skip
    for side, table in (("train", train), ("test", test)):
        names = [f"{id}.tif" for id in table["id"]]
        files.copy((job.raw / "train" / name, job.public / side / name) for name in names)
