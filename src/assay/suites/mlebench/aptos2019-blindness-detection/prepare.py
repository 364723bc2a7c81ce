"""APTOS 2019 blindness detection: graded photographs of the retina split at random."""

from assay.data import files, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_rows


def prepare(job: PrepareJob) -> None:
    """Split the graded photographs; the grades of the competition's own test set were never released."""
    grades = pandas_tables.read(job.raw / "train.csv")
    train, test = pandas_tables.split(grades, random_rows(len(grades), test=0.1, seed=0))
    pandas_tables.write_csv_split(
        train, test, id="id_code", sample={"diagnosis": 0}, whole_sample=True, public=job.public, private=job.private
    )
    for side, table in (("train", train), ("test", test)):
        files.copy_by_id(job.raw / "train_images", job.public / f"{side}_images", table["id_code"], ".png")
