"""Parkinson's disease: a fifth of the patients, with all their visits, is the test set."""

import polars as pl

from assay.data.job import PrepareJob
from assay.data.polars_tables import read, take, write
from assay.data.splits import random_groups

PARTS = [f"updrs_{part}" for part in range(1, 5)]
MONTHS_AHEAD = [0, 6, 12, 24]
TEST = 0.2
SEED = 20272


def prepare(job: PrepareJob) -> None:
    """Split by patient, with a fifth for the test; the published task tests on 2 patients, which is mostly chance."""
    clinical = read(job.raw / "train_clinical_data.csv")
    patients = clinical["patient_id"].to_list()
    train, test = (take(clinical, rows) for rows in random_groups(patients, test=TEST, seed=SEED))
    write(train, job.public / "train_clinical_data.csv")
    tested = pl.col("patient_id").is_in(test["patient_id"].unique().to_list())
    for name in ("proteins", "peptides"):
        table = read(job.raw / f"train_{name}.csv")
        write(table.filter(~tested), job.public / f"train_{name}.csv")
        write(table.filter(tested), job.public / f"test_{name}.csv")
    further = read(job.raw / "supplemental_clinical_data.csv").filter(~tested)  # other patients, which this ensures
    write(further, job.public / "supplemental_clinical_data.csv")

    asked = predictions(test)
    write(asked.drop("rating"), job.public / "test.csv")
    write(asked.select("prediction_id", pl.lit("10.0").alias("rating")), job.public / "sample_submission.csv")
    write(asked.select("prediction_id", "rating"), job.private / "answers.csv")


def predictions(visits: pl.DataFrame) -> pl.DataFrame:
    """Return for each visit the rating of every part at that visit and 6, 12 and 24 months later."""
    month = pl.col("visit_month").cast(pl.Int64)
    ratings = visits.unpivot(PARTS, index=["patient_id", "visit_month"], variable_name="part", value_name="rating")
    ratings = ratings.drop_nulls("rating").select("patient_id", month.alias("month"), "part", "rating")
    ahead = pl.DataFrame({"months_ahead": MONTHS_AHEAD}, schema={"months_ahead": pl.Int64})
    asked = visits.select("visit_id", "patient_id", month).join(ahead, how="cross")
    asked = asked.with_columns(month=pl.col("visit_month") + pl.col("months_ahead"))
    asked = asked.join(ratings, on=["patient_id", "month"]).sort("patient_id", "visit_month", "part", "months_ahead")
    name = pl.format("{}_{}_plus_{}_months", "visit_id", "part", "months_ahead").alias("prediction_id")
    return asked.select(name, "visit_id", "patient_id", "visit_month", "part", "months_ahead", "rating")
