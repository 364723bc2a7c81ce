"""Yeast functions: a random split under new numbers and names."""

import gzip

import polars as pl

from assay.data.job import PrepareJob
from assay.data.polars_tables import take, with_id, write_split
from assay.data.splits import random_rows

TEST = 0.5
SEED = 20269


def prepare(job: PrepareJob) -> None:
    """Write each value as the raw file has it, and labels as 0 and 1."""
    content = gzip.decompress((job.raw / "river/datasets/yeast.csv.gz").read_bytes())
    genes = pl.read_csv(content, infer_schema=False)
    labels = [name for name in genes.columns if name.startswith("Class")]
    genes = genes.with_columns(pl.col(labels).cast(pl.Float64).cast(pl.Int8).cast(pl.String))
    genes = genes.rename({name: name.replace("Class", "label_").replace("Att", "x") for name in genes.columns})
    train, test = (take(genes, rows) for rows in random_rows(genes.height, test=TEST, seed=SEED))
    train = with_id(train, "gene", range(train.height))
    test = with_id(test, "gene", range(train.height, genes.height))
    sample = {name.replace("Class", "label_"): 0 for name in labels}
    write_split(train, test, id="gene", sample=sample, public=job.public, private=job.private)
