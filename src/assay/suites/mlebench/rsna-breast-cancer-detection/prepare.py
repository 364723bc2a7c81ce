"""RSNA breast cancer detection: patients split at random, one answer for each breast."""

from assay.core.errors import SourceError
from assay.data import files, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_groups

SHOWN = ["site_id", "patient_id", "image_id", "laterality", "view", "age", "implant", "machine_id", "prediction_id"]


def prepare(job: PrepareJob) -> None:
    """Ask for one prediction per breast; the sample predicts the share of training images with cancer."""
    images = pandas_tables.read(job.raw / "train.csv")
    train, test = pandas_tables.split(images, random_groups(images["patient_id"], test=0.1, seed=42))
    test["prediction_id"] = test["patient_id"].astype(str) + "_" + test["laterality"]
    answers = pandas_tables.first_per_key(test[["prediction_id", "cancer"]], "prediction_id")
    if len(answers) == len(test):
        raise SourceError("train.csv has no breast with several images among the patients drawn for the test set")
    pandas_tables.write(train, job.public / "train.csv")
    pandas_tables.write(test[SHOWN], job.public / "test.csv")
    pandas_tables.write(answers.assign(cancer=train["cancer"].mean()), job.public / "sample_submission.csv")
    pandas_tables.write(answers, job.private / "answers.csv")
    for side, table in (("train", train), ("test", test)):
        names = (f"{row.patient_id}/{row.image_id}" for row in table.itertuples())
        files.copy_by_id(job.raw / "train_images", job.public / f"{side}_images", names, ".dcm")
