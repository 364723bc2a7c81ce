"""RANZCR CLiP catheters: chest X-rays with labels for the position of tubes and lines."""

from assay.data import files, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_rows_or_groups

ID = "StudyInstanceUID"


def prepare(job: PrepareJob) -> None:
    """Split images and ask for nine labels; `fixed` splits by patient and asks for all eleven."""
    studies = pandas_tables.read(job.raw / "train.csv")
    by_patient = job.edition == "fixed"
    rows = random_rows_or_groups(list(studies["PatientID"]), by_group=by_patient, test=0.1, seed=0)
    train, test = pandas_tables.split(studies, rows)
    pandas_tables.write_csv_split(
        train, test, public=job.public, private=job.private, id=ID, sample=dict.fromkeys(job.columns, 0), test_name=None
    )
    annotations = pandas_tables.read(job.raw / "train_annotations.csv")
    pandas_tables.write(annotations[annotations[ID].isin(train[ID])], job.public / "train_annotations.csv")
    for name, side in (("train", train), ("test", test)):
        files.copy_by_id(job.raw / "train", job.public / name, side[ID], ".jpg")
