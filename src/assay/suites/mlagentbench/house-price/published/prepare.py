"""House prices as published: the first four fifths of the sales for training, the rest for the test."""

import polars as pl

from assay.data.job import PrepareJob
from assay.data.polars_tables import take, write
from assay.data.splits import first_rows

from ..prepare import TRAIN, read_sales


def prepare(job: PrepareJob) -> None:
    """Write the published files alone: there is no sample submission among them."""
    sales = read_sales(job.raw)
    train, test = (take(sales, rows) for rows in first_rows(sales.height, train=TRAIN))
    write(train, job.public / "train.csv")
    write(test.drop("SalePrice"), job.public / "test.csv")
    write(test.select("Id", "SalePrice"), job.private / "answers.csv")
    write(test.select("Id", pl.lit("180000").alias("SalePrice")), job.private / "sample_submission.csv")
