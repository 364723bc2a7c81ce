"""Parkinson's disease as published: two patients are the test set."""

import random

import polars as pl

from assay.data.job import PrepareJob
from assay.data.polars_tables import read, write

PARTS = range(1, 5)
MONTHS_AHEAD = (0, 6, 12, 24)
LAST_MONTH = 108
TEST_PATIENTS = 2
SEED = 42
FOLDER = "example_test_files"
ASKED = ["prediction_id", "rating", "visit_month"]


def prepare(job: PrepareJob) -> None:
    """Split by patient, and ask in the published order: by months ahead, then by part, then by visit.

    The published preparation leaves out every rating that belongs to a visit with any missing value, and so does this.
    """
    clinical = read(job.raw / "train_clinical_data.csv")
    patients = clinical["patient_id"].unique(maintain_order=True).to_list()
    tested = pl.col("patient_id").is_in(random.Random(SEED).sample(patients, TEST_PATIENTS))
    for name in ("clinical_data", "proteins", "peptides"):
        write(read(job.raw / f"train_{name}.csv").filter(~tested), job.public / f"train_{name}.csv")
    for name in ("proteins", "peptides"):
        write(read(job.raw / f"train_{name}.csv").filter(tested), job.public / FOLDER / f"test_{name}.csv")
    further = read(job.raw / "supplemental_clinical_data.csv")
    known = pl.col("patient_id").is_in(clinical.filter(~tested)["patient_id"].unique().to_list())
    write(further.filter(known), job.public / "supplemental_clinical_data.csv")

    visits = clinical.filter(tested)
    rows = pl.concat([visits.with_columns(part=pl.lit(part)) for part in PARTS])
    rows = rows.with_columns(
        row_id=pl.format("{}_{}_updrs_{}", "patient_id", "visit_month", "part"),
        updrs_test=pl.format("updrs_{}", "part"),
    )
    columns = ["visit_id", "patient_id", "visit_month", "row_id", "updrs_test"]
    write(rows.select(columns), job.public / FOLDER / "test.csv")

    answers = ask(rows, visits).select(ASKED)
    write(answers, job.private / "answers.csv")
    write(answers.with_columns(rating=pl.lit("0")), job.public / FOLDER / "sample_submission.csv")


def ask(rows: pl.DataFrame, visits: pl.DataFrame) -> pl.DataFrame:
    """Return a row for each rating that is known 0, 6, 12 or 24 months after a visit without missing values."""
    ratings = pl.concat(
        [visits.select("visit_id", part=pl.lit(part), rating=pl.col(f"updrs_{part}")) for part in PARTS]
    )
    parts = []
    for ahead in MONTHS_AHEAD:
        month = pl.col("visit_month").cast(pl.Int64) + ahead
        asked = rows.filter(month <= LAST_MONTH).with_columns(
            prediction_id=pl.format("{}_plus_{}_months", "row_id", pl.lit(ahead)),
            later=pl.format("{}_{}", "patient_id", month),
        )
        parts.append(
            asked.join(
                ratings, left_on=["later", "part"], right_on=["visit_id", "part"], how="left", maintain_order="left"
            )
        )
    return pl.concat(parts).drop_nulls()
