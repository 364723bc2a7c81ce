"""Aerial cactus identification: labeled thumbnails split at random, each side in its own archive."""

from assay.data import archives, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_rows


def prepare(job: PrepareJob) -> None:
    """Split the labels; ids are file names with their suffix, and the new archives have no folder inside."""
    labels = pandas_tables.read(job.raw / "train.csv")
    train, test = pandas_tables.split(labels, random_rows(len(labels), test=0.19, seed=0))
    pandas_tables.write_csv_split(
        train, test, id="id", sample={"has_cactus": 0.5}, whole_sample=True, test_name=None,
        public=job.public, private=job.private,
    )  # fmt: skip
    for side, table in (("train", train), ("test", test)):
        images = ((f"train/{name}", name) for name in table["id"])
        archives.repack(job.public / f"{side}.zip", job.raw / "train.zip", images)
