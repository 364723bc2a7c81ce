"""AI4Code: notebooks split by ancestor, until exactly 20,000 are in the test set."""

import json
from pathlib import Path

import pandas as pd

from assay.core.errors import SourceError
from assay.data import files, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import fill_groups

TEST = 20_000
SMALLER_SHARE = 7


def prepare(job: PrepareJob) -> None:
    """Shuffle the notebooks and fill the test set by ancestor; the sample submission has the order of the files.

    Of fewer than 20,000 notebooks, which the published preparation refuses, a seventh is for the test, as of the real
    data.
    """
    ancestors = pandas_tables.read(job.raw / "train_ancestors.csv").sample(frac=1, random_state=0)
    size = TEST if len(ancestors) >= TEST else len(ancestors) // SMALLER_SHARE
    train, test = pandas_tables.split(ancestors, fill_groups(ancestors["ancestor_id"], test=size))
    if len(test) < size:
        raise SourceError(f"the families of notebooks cannot fill a test set of {size:,}: only {len(test):,} fit")
    orders = pandas_tables.read(job.raw / "train_orders.csv")
    answers = orders[orders["id"].isin(test["id"])]
    pandas_tables.write(train, job.public / "train_ancestors.csv")
    pandas_tables.write(orders[orders["id"].isin(train["id"])], job.public / "train_orders.csv")
    pandas_tables.write(answers, job.private / "test_orders.csv")
    for side, notebooks in (("train", train), ("test", test)):
        (job.public / side).mkdir()
        files.copy_by_id(job.raw / "train", job.public / side, notebooks["id"], ".json")
    order = [_read_cells(job.raw / "train" / f"{id}.json") for id in answers["id"]]
    pandas_tables.write(pd.DataFrame({"id": answers["id"], "cell_order": order}), job.public / "sample_submission.csv")


def _read_cells(path: Path) -> str:
    """Return the ids of a notebook's cells in the order of the file."""
    try:
        return " ".join(json.loads(path.read_text(encoding="utf-8"))["cell_type"])
    except (ValueError, KeyError, TypeError):
        raise SourceError(f"{path.name} is not a notebook: it has no table cell_type") from None
