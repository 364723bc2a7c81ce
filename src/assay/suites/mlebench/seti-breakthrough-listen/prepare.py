"""SETI signal search: labeled spectrograms split at random, in folders named by the first character of their ids."""

from assay.data import files, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_rows


def prepare(job: PrepareJob) -> None:
    """Split the labels and copy the data from before the restart of the competition as it is."""
    labels = pandas_tables.read(job.raw / "train_labels.csv")
    train, test = pandas_tables.split(labels, random_rows(len(labels), test=0.1, seed=0))
    pandas_tables.write_csv_split(
        train, test, id="id", sample={"target": 0.5}, whole_sample=True, train_name="train_labels.csv", test_name=None,
        public=job.public, private=job.private,
    )  # fmt: skip
    for side, table in (("train", train), ("test", test)):
        files.copy_by_id(job.raw / "train", job.public / side, table["id"], ".npy", levels=1)
    files.copy_tree(job.raw / "old_leaky_data", job.public / "old_leaky_data")
