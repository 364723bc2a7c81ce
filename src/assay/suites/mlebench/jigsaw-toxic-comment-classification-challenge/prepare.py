"""Makes the jigsaw-toxic-comment-classification-challenge task: the competition's own split, labels released later."""

from pathlib import Path

import pandas as pd

from assay.core.errors import SourceError
from assay.data import archives, pandas_tables
from assay.data.job import PrepareJob

LABELS = ["toxic", "severe_toxic", "obscene", "threat", "insult", "identity_hate"]


def prepare(job: PrepareJob) -> None:
    """Test rows whose labels are -1 were never scored; they stay among the answers, and the metric leaves them out."""
    train, test, labels, sample = (
        table(job.raw, f"{name}.csv") for name in ("train", "test", "test_labels", "sample_submission")
    )
    ids = sorted(test["id"])
    if ids != sorted(labels["id"]) or ids != sorted(sample["id"]) or train["id"].isin(ids).any():
        raise SourceError("the ids of test, test labels and sample submission differ, or some are in train as well")
    pandas_tables.write(train, job.public / "train.csv")
    pandas_tables.write(test, job.public / "test.csv")
    pandas_tables.write(labels, job.private / "test.csv")
    pandas_tables.write(sample.assign(**dict.fromkeys(LABELS, 0.5)), job.public / "sample_submission.csv")


def table(raw: Path, name: str) -> pd.DataFrame:
    """A table that is alone in an archive of its own."""
    with archives.open_member(raw / f"{name}.zip", name) as file:
        return pandas_tables.read(file)
