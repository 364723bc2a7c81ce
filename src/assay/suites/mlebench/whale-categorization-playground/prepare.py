"""Humpback whales: photographs of flukes, with every whale of several photographs on both sides."""

import numpy as np

from assay.data import files, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import appearance_numbers, by_predicate, random_rows

SAMPLE = "new_whale w_1287fbc w_98baff9 w_7554f44 w_1eafe46"


def prepare(job: PrepareJob) -> None:
    """Call whales of the test set that have no training photograph `new_whale`; rows keep their order."""
    photos = pandas_tables.read(job.raw / "train.csv")
    pandas_tables.check_columns(photos[sorted(photos.columns)], ["Id", "Image"], "train.csv")
    train, test = pandas_tables.split(photos, by_predicate(_choose_test(list(photos["Id"]))))
    files.copy_by_id(job.raw / "train", job.public / "train", train["Image"], "")
    files.copy_by_id(job.raw / "train", job.public / "test", test["Image"], "")
    test["Id"] = test["Id"].where(test["Id"].isin(train["Id"]), "new_whale")
    pandas_tables.write(train, job.public / "train.csv")
    pandas_tables.write(test, job.private / "test.csv")
    sample = pandas_tables.sample(test, "Image", {"Id": SAMPLE})
    pandas_tables.write(sample[list(photos.columns)], job.public / "sample_submission.csv")


def _choose_test(whales: list[str]) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    """Return which rows are for test.

    Of a whale with several photographs, one random photograph goes to each side; a single photograph goes to test
    with a probability of a tenth. A random tenth of the remaining ones goes to test.
    """
    numbers = appearance_numbers(whales)
    is_test, is_left = np.zeros(len(whales), bool), np.ones(len(whales), bool)
    singles = np.random.default_rng(0)
    order = np.argsort(numbers, kind="stable")
    for rows in np.split(order, np.cumsum(np.bincount(numbers))[:-1]):
        if len(rows) == 1:
            is_test[rows] = singles.random() >= 0.9
            is_left[rows] = False
        else:
            chosen = rows[np.random.RandomState(0).choice(len(rows), 2, replace=False)]
            is_test[chosen[1]] = True
            is_left[chosen] = False
    left = np.flatnonzero(is_left)
    is_test[left[random_rows(len(left), test=0.1, seed=0).test]] = True
    return is_test
