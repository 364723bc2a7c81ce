"""Hotel-ID 2021: photographs of hotel rooms, in a folder per chain."""

from pathlib import Path

from assay.core.errors import SourceError
from assay.data import files, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_rows

LISTED_TWICE = "ce27d36c9147cc19.jpg"


def prepare(job: PrepareJob) -> None:
    """Use a tenth of the photographs as the test set, in one folder; the one that is listed twice is left out."""
    photos = pandas_tables.read(job.raw / "train.csv")
    photos = photos[photos["image"] != LISTED_TWICE]
    train, test = pandas_tables.split(photos, random_rows(len(photos), test=0.1, seed=0))
    pandas_tables.write_csv_split(
        train, test, id="image", sample={"hotel_id": "36363 53586 18807 64314 60181"}, test_name=None,
        public=job.public, private=job.private,
    )  # fmt: skip
    if both := set(train["image"]) & set(test["image"]):
        raise SourceError(f"train.csv lists {min(both)} twice, once for training and once for test")
    raw = job.raw / "train_images"
    copies: dict[Path, Path] = {}  # target -> source; of several test photographs with one name the last one counts
    for chain, image in zip(map(str, train["chain"]), train["image"], strict=True):
        copies[job.public / "train_images" / chain / image] = raw / chain / image
    for chain, image in zip(map(str, test["chain"]), test["image"], strict=True):
        copies[job.public / "test_images" / image] = raw / chain / image
    files.copy((source, target) for target, source in copies.items())
