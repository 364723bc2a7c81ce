"""Patient survival: rows as tables are split, with the outcome in the form of the answers."""

import polars as pl

from assay.data.selection import SelectionJob, split_tables


def split(job: SelectionJob) -> pl.DataFrame:
    """Return days until death, or minus the days of follow-up."""
    hidden = split_tables(job)
    train = pl.read_csv(job.source / "train.csv", infer_schema=False)
    outcome = pl.when(pl.col("died") == "1").then(pl.col("days")).otherwise(pl.lit("-") + pl.col("days"))
    return hidden.select("patient").join(train.select("patient", outcome=outcome), on="patient", maintain_order="left")
