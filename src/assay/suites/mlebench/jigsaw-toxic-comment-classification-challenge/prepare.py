"""Jigsaw toxic comment classification: the competition's own split, whose test labels were released later."""

from assay.core.errors import SourceError
from assay.data import pandas_tables
from assay.data.job import PrepareJob


def prepare(job: PrepareJob) -> None:
    """Copy the four tables; test rows with labels of -1 were never scored and stay among the answers."""
    train, test, labels, sample = (
        pandas_tables.read_zipped(job.raw / f"{name}.csv.zip")
        for name in ("train", "test", "test_labels", "sample_submission")
    )
    ids = sorted(test["id"])
    if ids != sorted(labels["id"]) or ids != sorted(sample["id"]) or train["id"].isin(ids).any():
        raise SourceError("the ids of test, test labels and sample submission differ, or some are also in train")
    pandas_tables.write(train, job.public / "train.csv")
    pandas_tables.write(test, job.public / "test.csv")
    pandas_tables.write(labels, job.private / "test.csv")
    pandas_tables.write(sample.assign(**dict.fromkeys(job.columns, 0.5)), job.public / "sample_submission.csv")
