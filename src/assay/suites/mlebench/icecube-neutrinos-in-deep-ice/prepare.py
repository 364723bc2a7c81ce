"""IceCube: batches of events split at random; a batch's file of pulses is copied as it is.

The table of all events is held in memory, because the bytes of a Parquet file depend on how it is cut into row groups.
The 132 million events of the real data take about 14 GB (measured: 107 bytes per event).
"""

from pathlib import Path

from assay.core.errors import SourceError
from assay.data import files, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_groups


def prepare(job: PrepareJob) -> None:
    """Use a tenth of the batches as the test set; events keep their order."""
    events = pandas_tables.read_parquet(job.raw / "train_meta.parquet")
    train, test = pandas_tables.split(events, random_groups(events["batch_id"], test=0.1, seed=0))
    if train["event_id"].isin(test["event_id"]).any():
        raise SourceError("train_meta.parquet holds an event_id in several batches")
    pandas_tables.write_parquet(train, job.public / "train_meta.parquet")
    pandas_tables.write_parquet(test.drop(columns=job.columns), job.public / "test_meta.parquet")
    pandas_tables.write(test[["event_id", *job.columns]], job.private / "test.csv")
    sample = pandas_tables.sample(test, "event_id", dict.fromkeys(job.columns, 1))
    pandas_tables.write(sample, job.public / "sample_submission.csv")
    batches = {path: _number(path) for path in files.list_files(job.raw / "train", ".parquet")}
    for side, table in (("train", train), ("test", test)):
        numbers = set(table["batch_id"].unique().tolist())
        paths = [path for path, number in batches.items() if number in numbers]
        if len(paths) != len(numbers):
            raise SourceError(f"train/ holds {len(paths)} files of the {len(numbers)} {side} batches")
        files.copy((path, job.public / side / path.name) for path in paths)
    files.copy([(job.raw / "sensor_geometry.csv", job.public / "sensor_geometry.csv")])


def _number(path: Path) -> int:
    """Return the number of a batch from its file's name, such as `batch_7.parquet`."""
    number = path.stem.rpartition("_")[2]
    if not number.isdecimal():
        raise SourceError(f"train/{path.name} does not end in the number of a batch")
    return int(number)
