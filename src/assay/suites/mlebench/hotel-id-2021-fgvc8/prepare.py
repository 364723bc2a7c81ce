"""Hotel-ID 2021: photographs of hotel rooms, in a folder per chain."""

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
    raw = job.raw / "train_images"
    pairs = zip(train["chain"], train["image"], strict=True)
    files.copy((raw / str(chain) / name, job.public / "train_images" / str(chain) / name) for chain, name in pairs)
    pairs = zip(test["chain"], test["image"], strict=True)
    files.copy((raw / str(chain) / name, job.public / "test_images" / name) for chain, name in pairs)
