"""Makes the catheter task: chest X-rays with labels for the position of tubes and lines."""

from assay.data import files, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_groups, random_rows

ID = "StudyInstanceUID"
LABELS = [
    "ETT - Abnormal",
    "ETT - Borderline",
    "ETT - Normal",
    "NGT - Abnormal",
    "NGT - Borderline",
    "NGT - Incompletely Imaged",
    "NGT - Normal",
    "CVC - Abnormal",
    "CVC - Borderline",
]
UNSCORED_IN_V1 = ["CVC - Normal", "Swan Ganz Catheter Present"]


def prepare(job: PrepareJob) -> None:
    """`v1` splits images and asks for nine labels; `fixed` splits patients and asks for all eleven."""
    studies = pandas_tables.read(job.raw / "train.csv")
    if job.edition == "fixed":
        labels, rows = LABELS + UNSCORED_IN_V1, random_groups(list(studies["PatientID"]), test=0.1, seed=0)
    else:
        labels, rows = LABELS, random_rows(len(studies), test=0.1, seed=0)
    train, test = pandas_tables.split(studies, rows)
    pandas_tables.write_csv_split(
        train, test, public=job.public, private=job.private, id=ID, sample=dict.fromkeys(labels, 0), test_name=None
    )
    annotations = pandas_tables.read(job.raw / "train_annotations.csv")
    pandas_tables.write(annotations[annotations[ID].isin(train[ID])], job.public / "train_annotations.csv")
    files.copy(
        (job.raw / "train" / f"{study}.jpg", job.public / name / f"{study}.jpg")
        for name, side in (("train", train), ("test", test))
        for study in side[ID]
    )
