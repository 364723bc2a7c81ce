"""Plant pathology 2020: photographs of apple leaves under new numbers."""

from assay.data import files, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_rows

SAMPLE = dict.fromkeys(["healthy", "multiple_diseases", "rust", "scab"], 0.25)


def prepare(job: PrepareJob) -> None:
    """Number the photographs from 0 on each side in the order of the split; all go to one folder."""
    leaves = pandas_tables.read(job.raw / "train.csv")
    pandas_tables.check_columns(leaves[sorted(map(str, leaves))], sorted(["image_id", *SAMPLE]), "train.csv")
    sides = pandas_tables.split(leaves, random_rows(len(leaves), test=0.1, seed=0))
    tables, moves = [], []
    for name, side in zip(("Train", "Test"), sides, strict=True):
        table, pairs = pandas_tables.renumber(side, "image_id", f"{name}_{{}}")
        tables.append(table)
        moves += [(job.raw / "images" / f"{old}.jpg", job.public / "images" / f"{new}.jpg") for old, new in pairs]
    files.copy(moves)
    pandas_tables.write_csv_split(*tables, public=job.public, private=job.private, id="image_id", sample=SAMPLE)
