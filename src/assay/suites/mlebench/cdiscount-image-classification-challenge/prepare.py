"""Cdiscount: photos of products in one large BSON file, which is read twice: for the split, and to write both sides."""

from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assay.data import files
from assay.data.job import PrepareJob
from assay.data.splits import random_rows
from assay.formats import bson

from .._shared.plain_tables import write_table

COMMON_CATEGORY = 1000010653
EXAMPLES = 100
FIELDS = ("_id", "category_id")


def prepare(job: PrepareJob) -> None:
    """Use a random tenth of the products as the test set; in both files they keep their order."""
    products = _read_products(job.raw / "train.bson")
    rows = random_rows(products.shape[1], test=0.1, seed=0)
    answers = products[:, rows.test]
    answers = answers[:, np.argsort(answers[0])]
    write_table(job.private / "answers.csv", FIELDS, answers.T.tolist())
    write_table(job.public / "sample_submission.csv", FIELDS, ((id, COMMON_CATEGORY) for id in answers[0].tolist()))
    is_test = np.zeros(products.shape[1], dtype=bool)
    is_test[rows.test] = True
    _write_sides(job, is_test)
    first = islice(bson.read_documents(job.public / "train.bson"), EXAMPLES)
    (job.public / "train_example.bson").write_bytes(b"".join(first))
    files.copy([(job.raw / "category_names.csv", job.public / "category_names.csv")])


def _write_sides(job: PrepareJob, is_test: NDArray[np.bool_]) -> None:
    """Write blocks at once except for test products, which lose their category, and those whose _id is not first."""
    number = 0
    with (
        (job.public / "train.bson").open("wb") as train,
        (job.public / "test.bson").open("wb") as test,
    ):
        for block, offsets in bson.read_blocks(job.raw / "train.bson"):
            starts, ends = offsets[:-1], offsets[1:]
            content, hidden = memoryview(block), is_test[number : number + len(starts)]
            rest = 0  # where the products begin that are not written yet
            for row in np.flatnonzero(hidden | ~bson.begins_with(block, starts, "_id")).tolist():
                train.write(content[rest : starts[row]])
                if not hidden[row]:
                    train.write(bson.put_first(bytes(content[starts[row] : ends[row]]), "_id"))
                rest = ends[row]
            train.write(content[rest : offsets[-1]])
            rows = np.flatnonzero(hidden).tolist()
            of_test = [starts[row] for row in rows], [ends[row] for row in rows]
            test.writelines(bson.rewrite_each(block, *of_test, first="_id", dropped="category_id"))
            number += len(starts)


def _read_products(path: Path) -> NDArray[np.int64]:
    """Return the numbers of all products and, in a second row, their categories."""
    parts = [bson.get_integers(block, offsets, FIELDS) for block, offsets in bson.read_blocks(path)]
    return np.concatenate([np.zeros((2, 0), np.int64), *parts], axis=1)
