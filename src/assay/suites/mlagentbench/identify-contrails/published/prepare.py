"""Identify contrails as published: the validation records, under the name `test`, without their masks."""

from assay.data import files
from assay.data.job import PrepareJob
from assay.data.polars_tables import write

from ..prepare import prepare_records


def prepare(job: PrepareJob) -> None:
    """Keep the competition's names of files; its sample submission names its own test records, which are not here."""
    names = ("train_metadata.json", "validation_metadata.json", "sample_submission.csv")
    files.copy((job.raw / name, job.public / name) for name in names)
    write(prepare_records(job), job.private / "sample_submission.csv")
