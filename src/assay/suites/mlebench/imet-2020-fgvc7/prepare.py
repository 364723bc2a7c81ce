"""iMet 2020: photographs of works of art and their attributes."""

from assay.data import files, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_rows


def prepare(job: PrepareJob) -> None:
    """Use 15 % of the works as the test set; the list of attributes stays as it is."""
    works = pandas_tables.read(job.raw / "train.csv")
    train, test = pandas_tables.split(works, random_rows(len(works), test=0.15, seed=0))
    pandas_tables.write_csv_split(
        train, test, id="id", sample={"attribute_ids": "0 1 2"}, whole_sample=True, test_name=None,
        answers_name="answers.csv", public=job.public, private=job.private,
    )  # fmt: skip
    files.copy([(job.raw / "labels.csv", job.public / "labels.csv")])
    for name, side in (("train", train), ("test", test)):
        files.copy_by_id(job.raw / "train", job.public / name, side["id"], ".png")
