"""Makes the invasive species task: photos of a forest, packed as the competition packed them."""

from pathlib import Path
from tempfile import TemporaryDirectory

from assay.data import archives, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_rows
from assay.formats import seven_zip


def prepare(job: PrepareJob) -> None:
    """A random fifth of the photos is the test; tables go into zip files and photos into 7z files."""
    with archives.open_member(job.raw / "train_labels.csv.zip", "train_labels.csv") as file:
        labels = pandas_tables.read(file)
    train, test = pandas_tables.split(labels, random_rows(len(labels), test=0.2, seed=0))
    sample = test.assign(invasive=0.5)
    pandas_tables.write(test, job.private / "answers.csv")
    pandas_tables.write(sample, job.private / "sample_submission.csv")
    pandas_tables.write_zipped(train, job.public / "train_labels.csv.zip")
    pandas_tables.write_zipped(sample, job.public / "sample_submission.csv.zip")
    with TemporaryDirectory(dir=job.private) as folder:
        seven_zip.extract(job.raw / "train.7z", Path(folder))
        for side, table in (("train", train), ("test", test)):
            photos = ((f"{side}/{name}.jpg", Path(folder, f"train/{name}.jpg")) for name in table["name"])
            seven_zip.pack(job.public / f"{side}.7z", photos)
