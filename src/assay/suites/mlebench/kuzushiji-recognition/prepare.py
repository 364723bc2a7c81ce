"""Kuzushiji recognition: pages of old books with the box of each character, split at random."""

from assay.core.errors import SourceError
from assay.data import archives, files, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_rows


def prepare(job: PrepareJob) -> None:
    """Split the pages; the gold submission has a point just inside the upper left corner of each box."""
    pages = pandas_tables.read(job.raw / "train.csv")
    labeled = pages["labels"].notna()
    train, test = pandas_tables.split(pages, random_rows(len(pages), test=0.1, seed=0, scorable=labeled))
    if test["labels"].isna().any():
        raise SourceError("train.csv has a page without labels among the test pages, for which there is no gold answer")
    pandas_tables.write_csv_split(
        train, test, id="image_id", sample={"labels": "U+003F 1 1 U+FF2F 2 2"}, whole_sample=True, test_name=None,
        public=job.public, private=job.private,
    )  # fmt: skip
    gold = test.assign(labels=[_points_in_boxes(labels) for labels in test["labels"]])
    pandas_tables.write(gold, job.private / "gold_submission.csv")
    for side, table in (("train", train), ("test", test)):
        names = [f"{id}.jpg" for id in table["image_id"]]
        archives.repack(job.public / f"{side}_images.zip", job.raw / "train_images.zip", zip(names, names, strict=True))
    codes = "unicode_translation.csv"
    files.copy([(job.raw / codes, job.public / codes)])


def _points_in_boxes(labels: str) -> str:
    words = labels.split()
    boxes = zip(words[0::5], words[1::5], words[2::5], strict=True)
    return " ".join(f"{code} {int(x) + 1} {int(y) + 1}" for code, x, y in boxes)
