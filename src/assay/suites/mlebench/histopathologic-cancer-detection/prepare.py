"""Histopathologic cancer detection: labeled patches split at random, in the order of the raw table."""

from assay.data import files, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_rows


def prepare(job: PrepareJob) -> None:
    """Give the test side the share of all patches that the competition's own unlabeled test set had."""
    labels = pandas_tables.read_inexactly(job.raw / "train_labels.csv")
    unlabeled = len(files.list_files(job.raw / "test", ".tif"))
    rows = random_rows(len(labels), test=unlabeled / (len(labels) + unlabeled), seed=0)
    train, test = pandas_tables.split(labels, rows.in_raw_order())
    pandas_tables.write_csv_split(
        train, test, id="id", sample={"label": 0}, whole_sample=True, public=job.public, private=job.private,
        train_name="train_labels.csv", test_name=None, answers_name="answers.csv",
    )  # fmt: skip
    for side, table in (("train", train), ("test", test)):
        files.copy_by_id(job.raw / "train", job.public / side, table["id"], ".tif")
