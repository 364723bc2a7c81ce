"""HuBMAP kidney segmentation: fifteen large images with masks, three of them for the test."""

import pandas as pd

from assay.core.errors import SourceError
from assay.data import files, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_rows

TRAIN, TEST = 12, 3
INFORMATION = "HuBMAP-20-dataset_information.csv"
OUTLINES = ".json"


def prepare(job: PrepareJob) -> None:
    """Split the images; `fixed` leaves out the outlines of what is to be found in the test images."""
    masks = pandas_tables.read(job.raw / "train.csv")
    pandas_tables.check_columns(masks, ["id", "encoding"], "train.csv")
    if len(masks) != TRAIN + TEST:
        raise SourceError(f"train.csv has {len(masks)} rows; expected are {TRAIN + TEST}")
    train, test = pandas_tables.split(masks, random_rows(len(masks), train=TRAIN, test=TEST, seed=0))
    information = pandas_tables.read(job.raw / INFORMATION)
    ids = information["image_file"].str.replace(".tiff", "", regex=False)
    sizes = pd.DataFrame({"id": ids, **information[["width_pixels", "height_pixels"]]})
    answers = test.merge(sizes, on="id")
    if len(answers) != len(test):
        raise SourceError(f"{INFORMATION} must have one row for each image of train.csv")
    pandas_tables.write(train, job.public / "train.csv")
    pandas_tables.write(information[ids.isin(masks["id"])], job.public / INFORMATION)
    pandas_tables.write(answers, job.private / "test.csv")
    gold = answers[["id", "encoding"]].rename(columns={"encoding": "predicted"})
    pandas_tables.write(gold, job.private / "gold_submission.csv")
    for folder in (job.public, job.public / "test"):
        pandas_tables.write(gold.assign(predicted=""), folder / "sample_submission.csv")
    suffixes = [".tiff", "-anatomical-structure.json"]
    test_suffixes = suffixes if job.edition == "fixed" else [*suffixes, OUTLINES]
    for side, table, kinds in (("train", train, [*suffixes, OUTLINES]), ("test", test, test_suffixes)):
        names = [f"{id}{suffix}" for id in table["id"] for suffix in kinds]
        files.copy((job.raw / "train" / name, job.public / side / name) for name in names)
