"""Cdiscount: photos of products in one large BSON file, which is read twice: for the split, and to write both sides."""

from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from assay.core.progress import stage
from assay.data import files, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_rows
from assay.formats import bson

COMMON_CATEGORY = 1000010653
EXAMPLES = 100
FIELDS = ("_id", "category_id")


def prepare(job: PrepareJob) -> None:
    """Use a random tenth of the products as the test set; in both files they keep their order."""
    products = _read_products(job.raw / "train.bson")
    rows = random_rows(len(products), test=0.1, seed=0)
    answers = products.take(rows.test).sort_values("_id")
    pandas_tables.write(answers, job.private / "answers.csv")
    sample = pandas_tables.sample(answers, "_id", {"category_id": COMMON_CATEGORY})
    pandas_tables.write(sample, job.public / "sample_submission.csv")
    is_test = np.zeros(len(products), dtype=bool)
    is_test[rows.test] = True
    _write_sides(job, is_test)
    first = islice(bson.read_documents(job.public / "train.bson"), EXAMPLES)
    (job.public / "train_example.bson").write_bytes(b"".join(first))
    files.copy([(job.raw / "category_names.csv", job.public / "category_names.csv")])


def _write_sides(job: PrepareJob, is_test: NDArray[np.bool_]) -> None:
    """Write a block at once except for test products, which lose their category, and those whose _id is not first."""
    number = 0
    with (
        (job.public / "train.bson").open("wb") as train,
        (job.public / "test.bson").open("wb") as test,
        stage("Splitting products", len(is_test)) as advance,
    ):
        for block, offsets in bson.read_blocks(job.raw / "train.bson"):
            content = memoryview(block)
            rest = 0  # where the products begin that are not written yet
            hidden = is_test[number : number + len(offsets) - 1].tolist()
            for (start, end), to_test in zip(pairwise(offsets), hidden, strict=True):
                if to_test or not bson.starts_with(block, start, "_id"):
                    train.write(content[rest:start])
                    product = bson.put_first(bytes(content[start:end]), "_id")
                    if to_test:
                        test.write(bson.drop_field(product, "category_id"))
                    else:
                        train.write(product)
                    rest = end
            train.write(content[rest : offsets[-1]])
            number += len(hidden)
            advance(len(hidden))


def _read_products(path: Path) -> pd.DataFrame:
    """Return the number and the category of every product, in 16 bytes each."""
    parts = [bson.get_integers(block, offsets, FIELDS) for block, offsets in bson.read_blocks(path)]
    ids, categories = np.concatenate([np.zeros((2, 0), np.int64), *parts], axis=1)
    return pd.DataFrame({"_id": ids, "category_id": categories})
