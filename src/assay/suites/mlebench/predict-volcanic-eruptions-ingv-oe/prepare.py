"""Volcanic eruption prediction: a table of segments, and a file of sensor readings for each."""

from assay.data import files, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_rows


def prepare(job: PrepareJob) -> None:
    """Use a random tenth of the segments as the test set; files of sensor readings keep their names."""
    segments = pandas_tables.read(job.raw / "train.csv")
    pandas_tables.check_columns(segments, ["segment_id", "time_to_eruption"], "train.csv")
    train, test = pandas_tables.split(segments, random_rows(len(segments), test=0.1, seed=0))
    for side, table in (("train", train), ("test", test)):
        files.copy_by_id(job.raw / "train", job.public / side, table["segment_id"], ".csv")
    pandas_tables.write_csv_split(
        train,
        test,
        public=job.public,
        private=job.private,
        id="segment_id",
        sample={"time_to_eruption": 0},
        test_name=None,
    )
