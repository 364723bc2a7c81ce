"""Ventilator pressure prediction: breaths of a ventilator split at random, with new row numbers on each side."""

import numpy as np

from assay.data import pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_sorted_groups

TYPES = {
    "id": np.int32,
    "breath_id": np.int32,
    "R": np.int8,
    "C": np.int8,
    "time_step": np.float64,
    "u_in": np.float64,
    "u_out": np.int8,
    "pressure": np.float64,
}


def prepare(job: PrepareJob) -> None:
    """Keep breaths whole and number rows from 1; numbers are written with ten digits."""
    rows = pandas_tables.read(job.raw / "train.csv", dtype=TYPES)
    pandas_tables.check_columns(rows[sorted(rows.columns)], sorted(TYPES), "train.csv")
    train, test = (
        pandas_tables.renumber(side, "id", start=1)[0]
        for side in pandas_tables.split(rows, random_sorted_groups(rows["breath_id"], test=0.1, seed=0))
    )
    sample = pandas_tables.sample(test, "id", {"pressure": 0})
    for frame, path in (
        (train, job.public / "train.csv"),
        (test.drop(columns="pressure"), job.public / "test.csv"),
        (sample, job.public / "sample_submission.csv"),
        (test, job.private / "test.csv"),
    ):
        pandas_tables.write(frame, path, float_format="%.10g")
