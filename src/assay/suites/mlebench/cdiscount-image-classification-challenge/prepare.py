"""Cdiscount: photos of products in one large BSON file, which is read twice: for the split, and to write both sides."""

from array import array
from pathlib import Path

import numpy as np
import pandas as pd

from assay.core.errors import SourceError
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
    with (
        (job.public / "train.bson").open("wb") as train,
        (job.public / "train_example.bson").open("wb") as examples,
        (job.public / "test.bson").open("wb") as test,
        stage("Splitting products", len(products)) as advance,
    ):
        trained = 0
        for document, hidden in zip(bson.read_documents(job.raw / "train.bson"), is_test.tolist(), strict=True):
            product = bson.put_first(document, "_id")
            if hidden:
                test.write(bson.drop_field(product, "category_id"))
            else:
                train.write(product)
                if trained < EXAMPLES:
                    examples.write(product)
                trained += 1
            advance(1)
    files.copy([(job.raw / "category_names.csv", job.public / "category_names.csv")])


def _read_products(path: Path) -> pd.DataFrame:
    """Return the number and the category of every product, in 16 bytes each."""
    ids, categories = array("q"), array("q")
    for document in bson.read_documents(path):
        for name, values, value in zip(FIELDS, (ids, categories), bson.get_fields(document, FIELDS), strict=True):
            if not isinstance(value, int):
                raise SourceError(f"{path.name} has the {name} {value!r}, which is not a whole number")
            values.append(value)
    return pd.DataFrame({"_id": np.frombuffer(ids, np.int64), "category_id": np.frombuffer(categories, np.int64)})
