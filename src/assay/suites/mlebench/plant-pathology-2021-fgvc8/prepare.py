"""Plant pathology 2021: photographs of apple leaves with one or several labels."""

from assay.data import files, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_rows


def prepare(job: PrepareJob) -> None:
    """Use a fifth of the photographs as the test set."""
    leaves = pandas_tables.read(job.raw / "train.csv")
    train, test = pandas_tables.split(leaves, random_rows(len(leaves), test=0.2, seed=0))
    pandas_tables.write_csv_split(
        train, test, id="image", sample={"labels": "healthy"}, whole_sample=True, test_name=None,
        answers_name="answers.csv", public=job.public, private=job.private,
    )  # fmt: skip
    for name, side in (("train_images", train), ("test_images", test)):
        files.copy_by_id(job.raw / "train_images", job.public / name, side["image"], "")
