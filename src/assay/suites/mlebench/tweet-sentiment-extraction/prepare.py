"""Tweet sentiment extraction: tweets split at random."""

from assay.data import pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_rows


def prepare(job: PrepareJob) -> None:
    """Write an empty sample submission; `fixed` keeps words that pandas reads as missing."""
    tweets = pandas_tables.read(job.raw / "train.csv", keep_default_na=job.edition == "v1")
    has_words = tweets["text"].fillna("").str.strip() != ""
    train, test = pandas_tables.split(tweets, random_rows(len(tweets), test=0.1, seed=0, scorable=has_words))
    pandas_tables.write_csv_split(
        train, test, id="textID", sample={"selected_text": ""}, public=job.public, private=job.private
    )
