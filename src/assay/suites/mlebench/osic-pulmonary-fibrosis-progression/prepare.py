"""OSIC pulmonary fibrosis progression: patients split at random; answers for every week, measured or not."""

import pandas as pd

from assay.data import files, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_sorted_groups

COLUMNS = ["Patient", "Weeks", "FVC", "Percent", "Age", "Sex", "SmokingStatus"]


def prepare(job: PrepareJob) -> None:
    """Show the first measurement of each test patient, and ask for each week in which any of them was measured."""
    measured = pandas_tables.read(job.raw / "train.csv")
    pandas_tables.check_columns(measured[sorted(measured.columns)], sorted(COLUMNS), "train.csv")
    train, test = pandas_tables.split(measured, random_sorted_groups(measured["Patient"], test=0.1, seed=0))
    # pandas' default sort is not stable: of two measurements in the first week either may come first.
    first = pandas_tables.first_per_key(test.sort_values("Weeks"), "Patient")
    weeks = pd.DataFrame({"Weeks": range(test["Weeks"].min(), test["Weeks"].max() + 1)})
    answers = test[["Patient"]].drop_duplicates().merge(weeks, how="cross").merge(test, how="left")
    answers["Patient_Week"] = answers["Patient"] + "_" + answers["Weeks"].astype(str)
    answers["Confidence"] = 100
    sample = pandas_tables.sample(answers, "Patient_Week", {"FVC": 2000, "Confidence": 100})
    pandas_tables.write(train, job.public / "train.csv")
    pandas_tables.write(first, job.public / "test.csv")
    pandas_tables.write(sample, job.public / "sample_submission.csv")
    pandas_tables.write(answers, job.private / "test.csv")
    for side, table in (("train", train), ("test", test)):
        files.copy_folder_by_id(job.raw / "train", job.public / side, table["Patient"].unique())
