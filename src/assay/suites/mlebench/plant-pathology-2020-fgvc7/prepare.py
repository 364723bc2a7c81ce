"""Makes the plant-pathology task: photos of apple leaves under new numbers."""

from assay.data import files, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_rows

SAMPLE = dict.fromkeys(["healthy", "multiple_diseases", "rust", "scab"], 0.25)


def prepare(job: PrepareJob) -> None:
    """Photos are numbered from 0 on each side in the order of the split; all go to one folder."""
    leaves = pandas_tables.read(job.raw / "train.csv")
    pandas_tables.check_columns(leaves[sorted(map(str, leaves))], sorted(["image_id", *SAMPLE]), "train.csv")
    train, test = pandas_tables.split(leaves, random_rows(len(leaves), test=0.1, seed=0))
    photos = []
    for name, side in (("Train", train), ("Test", test)):
        old, side["image_id"] = list(side["image_id"]), [f"{name}_{number}" for number in range(len(side))]
        photos += [
            (job.raw / "images" / f"{before}.jpg", job.public / "images" / f"{after}.jpg")
            for before, after in zip(old, side["image_id"], strict=True)
        ]
    files.copy(photos)
    pandas_tables.write_csv_split(train, test, public=job.public, private=job.private, id="image_id", sample=SAMPLE)
