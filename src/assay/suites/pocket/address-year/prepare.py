"""Address year: passages of 150 words with masked digits, split by address."""

import numpy as np
import polars as pl

from assay.data.job import PrepareJob
from assay.data.polars_tables import take, with_id, write_split
from assay.data.splits import random_groups

from .._shared.addresses import read_passages

TEST = 0.5
TRAIN_ROWS, TEST_ROWS = 2500, 2500
SEED = 20271


def prepare(job: PrepareJob) -> None:
    """Keep the passages of an address on one side, and write them in random order."""
    addresses, years, texts = zip(*read_passages(job.raw / "package/data"), strict=True)
    passages = pl.DataFrame({"text": texts, "year": years})
    random = np.random.RandomState(SEED)
    split = random_groups(addresses, test=TEST, seed=SEED)
    train = take(passages, random.permutation(split.train)[:TRAIN_ROWS])
    test = take(passages, random.permutation(split.test)[:TEST_ROWS])
    train = with_id(train, "passage", range(TRAIN_ROWS))
    test = with_id(test, "passage", range(TRAIN_ROWS, TRAIN_ROWS + TEST_ROWS))
    write_split(train, test, id="passage", sample={"year": 1900}, public=job.public, private=job.private)
