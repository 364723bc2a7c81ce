"""Bike rentals: nine months for training, the last three for test."""

import polars as pl

from assay.data.job import PrepareJob
from assay.data.polars_tables import read, take, with_id, write_split
from assay.data.splits import by_predicate

TEST_MONTHS = ["Oct", "Nov", "Dec"]


def prepare(job: PrepareJob) -> None:
    """Keep the order of time, and drop the two counts that add up to the target."""
    hours = read(job.raw / "ISLP/data/Bikeshare.csv").rename({"bikers": "rentals", "mnth": "month", "hr": "hour"})
    hours = with_id(hours.drop("casual", "registered"), "hour_id", range(hours.height))
    split = by_predicate(hours["month"].is_in(TEST_MONTHS).to_list())
    train, test = (take(hours, rows) for rows in split)
    assert max(train["day"].cast(pl.Int64)) < min(test["day"].cast(pl.Int64))
    write_split(train, test, id="hour_id", sample={"rentals": 100}, public=job.public, private=job.private)
