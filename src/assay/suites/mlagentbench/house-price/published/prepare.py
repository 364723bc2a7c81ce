"""House prices as published: the first four fifths of the sales for training, the rest for the test."""

from assay.data.job import PrepareJob
from assay.data.polars_tables import take, write_split
from assay.data.splits import first_rows

from ..prepare import TRAIN, read_sales


def prepare(job: PrepareJob) -> None:
    """Write the published files, a sample submission for the test rows among them."""
    sales = read_sales(job.raw)
    train, test = (take(sales, rows) for rows in first_rows(sales.height, train=TRAIN))
    sample = {"SalePrice": 180000}
    write_split(train, test, id="Id", sample=sample, public=job.public, private=job.private)
