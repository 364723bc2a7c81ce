"""Diamond intervals: few stones for training, without duplicates."""

import polars as pl

from assay.data.job import PrepareJob
from assay.data.polars_tables import read, take, with_id, write
from assay.data.splits import random_rows

TRAIN, TEST = 1200, 4000
SEED = 20268


def prepare(job: PrepareJob) -> None:
    """Number the stones after shuffling; stones that differ in the price alone are left out."""
    stones = read(job.raw / "plotnine/data/diamonds.csv")
    facts = [name for name in stones.columns if name != "price"]
    stones = stones.unique(subset=facts, keep="none", maintain_order=True).select(*facts, "price")
    train, test = (take(stones, rows) for rows in random_rows(stones.height, train=TRAIN, test=TEST, seed=SEED))
    train, test = with_id(train, "stone", range(TRAIN)), with_id(test, "stone", range(TRAIN, TRAIN + TEST))
    write(train, job.public / "train.csv")
    write(test.drop("price"), job.public / "test.csv")
    write(test.select("stone", low=pl.lit("500"), high=pl.lit("13000")), job.public / "sample_submission.csv")
    write(test.select("stone", "price"), job.private / "answers.csv")
