"""RSNA-MICCAI brain tumor: patients with a folder of scans each, split at random."""

from assay.data import files, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_rows

ID = "BraTS21ID"


def prepare(job: PrepareJob) -> None:
    """Split the labeled patients; ids are text, which keeps their leading zeros, and labels whole numbers."""
    labels = pandas_tables.read(job.raw / "train_labels.csv", dtype={ID: str, "MGMT_value": int})
    train, test = pandas_tables.split(labels, random_rows(len(labels), test=0.1, seed=0))
    pandas_tables.write_csv_split(
        train, test, id=ID, sample={"MGMT_value": 0.5}, whole_sample=True, public=job.public, private=job.private,
        train_name="train_labels.csv", test_name=None,
    )  # fmt: skip
    for side, table in (("train", train), ("test", test)):
        files.copy_folder_by_id(job.raw / "train", job.public / side, table[ID])
