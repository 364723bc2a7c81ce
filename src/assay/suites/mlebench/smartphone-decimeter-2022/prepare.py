"""Smartphone decimeter: drives are split by date, and test drives lose their ground truth."""

from pathlib import Path

import pandas as pd

from assay.core.errors import SourceError
from assay.data import files, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_rows

POSITION = {"LatitudeDegrees": 37.904611315634504, "LongitudeDegrees": -86.48107806249548}


def prepare(job: PrepareJob) -> None:
    """Use a random tenth of the dates as the test set; the answers are the ground truth of all test phones."""
    drives = sorted(path.name for path in (job.raw / "train").iterdir() if path.is_dir())
    dates = sorted({_date(drive) for drive in drives})
    test_dates = {dates[row] for row in random_rows(len(dates), test=0.1, seed=0).test}
    for drive in drives:
        side = "test" if _date(drive) in test_dates else "train"
        files.copy_tree(job.raw / "train" / drive, job.public / side / drive)
    files.copy_tree(job.raw / "metadata", job.public / "metadata")
    # By drive and then by phone: joined by a slash, a drive would come after another that continues its name.
    truths = sorted(job.public.glob("test/*/*/ground_truth.csv"), key=lambda path: path.parts)
    answers = pd.concat([_read_truth(path) for path in truths])
    pandas_tables.write(answers, job.private / "test.csv")
    sample = pandas_tables.sample(answers, ["tripId", "UnixTimeMillis"], POSITION)
    pandas_tables.write(sample, job.public / "sample_submission.csv")
    logs = job.public.glob("test/**/span_log.nmea") if job.edition == "fixed" else ()
    for path in [*truths, *logs]:
        path.unlink()


def _date(drive: str) -> str:
    """Return the date that starts a drive's name, with two digits for month and day."""
    parts = drive.split("-")[:3]
    if len(parts) < 3 or not all(part.isdigit() for part in parts):
        raise SourceError(f"train/{drive} does not start with a date")
    year, month, day = parts
    return f"{year}-{month:0>2}-{day:0>2}"


def _read_truth(path: Path) -> pd.DataFrame:
    frame = pandas_tables.read_inexactly(path)[["UnixTimeMillis", *POSITION]]
    frame.insert(0, "tripId", f"{path.parts[-3]}-{path.parts[-2]}")
    return frame
