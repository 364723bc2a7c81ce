"""Paddy disease classification: photographs of rice plants, the training ones in a folder per disease."""

from assay.data import files, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_rows


def prepare(job: PrepareJob) -> None:
    """Use a random quarter of the photographs as the test set; the published sample submission has empty labels."""
    photos = pandas_tables.read(job.raw / "train.csv")
    train, test = pandas_tables.split(photos, random_rows(len(photos), train=0.75, seed=0))
    answer = "normal" if job.edition == "fixed" else ""
    pandas_tables.write_csv_split(
        train, test, id="image_id", sample={"label": answer}, test_name=None, public=job.public, private=job.private
    )
    raw_photos = job.raw / "train_images"
    pairs = zip(train["label"], train["image_id"], strict=True)
    files.copy((raw_photos / label / name, job.public / "train_images" / label / name) for label, name in pairs)
    pairs = zip(test["label"], test["image_id"], strict=True)
    files.copy((raw_photos / label / name, job.public / "test_images" / name) for label, name in pairs)
