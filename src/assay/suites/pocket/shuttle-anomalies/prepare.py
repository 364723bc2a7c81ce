"""Shuttle anomalies: normal readings for training, both kinds for test, with noise on every sensor."""

import gzip

import numpy as np
import polars as pl

from assay.data.job import PrepareJob
from assay.data.polars_tables import take, with_id, write_split
from assay.data.splits import random_rows

TRAIN, TEST = 1000, 4000
SEED = 20266
NOISE = 0.5
SENSORS = [f"f{number}" for number in range(2, 10)]


def prepare(job: PrepareJob) -> None:
    """Leave out the clock, which alone tells most anomalies, and blur the sensors, whose exact values nearly do."""
    content = gzip.decompress((job.raw / "river/datasets/shuttle.csv.gz").read_bytes())
    readings = pl.read_csv(content).unique(subset=SENSORS, keep="none", maintain_order=True)
    random = np.random.RandomState(SEED)
    scales = {
        name: NOISE * (readings[name].quantile(0.9) or 0) - NOISE * (readings[name].quantile(0.1) or 0)
        for name in SENSORS
    }
    blurred = [
        (readings[name] + pl.Series(random.normal(0, 1 + scales[name], readings.height))).round(1) for name in SENSORS
    ]
    readings = pl.DataFrame([*blurred, readings["anomaly"]])
    test_rows = random_rows(readings.height, test=TEST, seed=SEED)
    test = take(readings, test_rows.test)
    train = take(readings, test_rows.train).filter(pl.col("anomaly") == 0).head(TRAIN)
    train, test = with_id(train, "reading", range(TRAIN)), with_id(test, "reading", range(TRAIN, TRAIN + TEST))
    write_split(
        train.drop("anomaly"), test, id="reading", sample={"anomaly": 0}, public=job.public, private=job.private
    )
