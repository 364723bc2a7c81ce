"""Freesound tagging: the competition's data as it is, with the test labels that Zenodo has since then."""

import pandas as pd

from assay.core.errors import SourceError
from assay.data import files, pandas_tables
from assay.data.job import PrepareJob

META = "FSDKaggle2019.meta"
LABELS = "test_post_competition.csv"


def prepare(job: PrepareJob) -> None:
    """Copy everything to public; the answers are the labels of the private test recordings."""
    for path in sorted(job.raw.iterdir()):
        if META in path.name:
            continue
        if path.is_dir():
            files.copy_tree(path, job.public / path.name)
        else:
            files.copy([(path, job.public / path.name)])
    labels = _read_labels(job)
    test = labels[labels["usage"] == "Private"]
    if test["labels"].isna().any():
        raise SourceError(f"{LABELS} holds recordings without labels")
    answers = pandas_tables.multi_hot(test, "fname", "labels", job.columns, separator=",")
    sample = pandas_tables.read(job.raw / "sample_submission.csv")
    pandas_tables.check_columns(sample, list(answers.columns), "sample_submission.csv")
    if sorted(sample["fname"]) != sorted(answers["fname"]):
        raise SourceError(f"sample_submission.csv lists other recordings than the private ones of {LABELS}")
    pandas_tables.write(answers, job.private / "test.csv")


def _read_labels(job: PrepareJob) -> pd.DataFrame:
    """Return the published labels: from a folder of the raw data, else from the archive there or on Zenodo."""
    extracted = job.raw / META / LABELS
    if extracted.is_file():
        return pandas_tables.read(extracted)
    return pandas_tables.read_zipped(job.find_or_fetch(f"{META}.zip"), f"{META}/{LABELS}")
