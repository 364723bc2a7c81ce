"""SIIM COVID-19 detection: studies split at random, and images with their studies."""

import pandas as pd

from assay.core.errors import SourceError
from assay.data import files, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_rows

CLASSES = ["negative", "typical", "indeterminate", "atypical"]
WHOLE_IMAGE = "1 0 0 1 1"


def prepare(job: PrepareJob) -> None:
    """Ask for the class of each study, which is a place among the columns, and for the boxes of each image."""
    studies, images = (pandas_tables.read(job.raw / f"train_{level}_level.csv") for level in ("study", "image"))
    study_of_image = images["StudyInstanceUID"] + "_study"
    if not study_of_image.isin(studies["id"]).all():
        raise SourceError("train_image_level.csv has images of studies that train_study_level.csv does not list")
    sides = pandas_tables.split(studies, random_rows(len(studies), test=0.1, seed=0))
    train, test = (side.sort_values("id") for side in sides)
    train_images, test_images = (images[study_of_image.isin(side["id"])].sort_values("id") for side in (train, test))
    classes = [row.argmax() for _, row in test.iloc[:, 1:].astype(object).iterrows()]  # where NaN is not the largest
    labels = [f"{CLASSES[number]} {WHOLE_IMAGE}" for number in classes]
    ids = [*test["id"], *test_images["id"]]
    answers = pd.DataFrame({"id": ids, "PredictionString": [*labels, *test_images["label"]]})
    nothing = [f"negative {WHOLE_IMAGE}"] * len(test) + [f"none {WHOLE_IMAGE}"] * len(test_images)
    pandas_tables.write(train, job.public / "train_study_level.csv")
    pandas_tables.write(train_images, job.public / "train_image_level.csv")
    pandas_tables.write(answers.assign(PredictionString=nothing), job.public / "sample_submission.csv")
    pandas_tables.write(answers, job.private / "test.csv")
    for name, side in (("train", train), ("test", test)):
        files.copy_folder_by_id(job.raw / "train", job.public / name, side["id"].str.replace("_study", "", regex=False))
