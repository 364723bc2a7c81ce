"""Molecular translation: drawings of molecules split at random, nested by the first three characters of their ids."""

from assay.data import files, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_rows


def prepare(job: PrepareJob) -> None:
    """Split the drawings; the sample submission answers water everywhere."""
    labels = pandas_tables.scan(job.raw / "train_labels.csv", scratch=job.private)
    train, test = pandas_tables.split(labels, random_rows(len(labels), test=0.2, seed=0))
    pandas_tables.write_csv_split(
        train, test, id="image_id", sample={"InChI": "InChI=1S/H2O/h1H2"}, whole_sample=True,
        train_name="train_labels.csv", test_name=None, public=job.public, private=job.private,
    )  # fmt: skip
    for side, table in (("train", train), ("test", test)):
        files.copy_by_id(job.raw / "train", job.public / side, table["image_id"], ".png", levels=3)
    extra = "extra_approved_InChIs.csv"
    files.copy([(job.raw / extra, job.public / extra)])
