"""Keyword extraction: questions with tags, split at random.

The table is held in memory, because pandas infers the types of its columns from all rows, which are written shuffled.
"""

import pandas as pd

from assay.data import pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import Split, random_groups, random_rows

SAMPLE = {"Tags": "javascript c# python php java"}


def prepare(job: PrepareJob) -> None:
    """Split the questions; edition `fixed` keeps equal ones together, and the words that pandas reads as missing."""
    v1 = job.edition == "v1"
    types = {"Id": str, "Tags": str} if v1 else str
    rows = pandas_tables.read_zipped(job.raw / "Train.zip", "Train.csv", dtype=types, keep_default_na=v1)
    split = random_rows(len(rows), test=0.1, seed=0) if v1 else _split_questions(rows)
    train, test = pandas_tables.split(rows, split)
    pandas_tables.write(train, job.public / "train.csv")
    pandas_tables.write(test, job.private / "test.csv")
    questions = test.drop(columns="Tags")
    pandas_tables.write(questions, job.public / "test.csv")
    sample = questions if v1 else questions[["Id"]]
    pandas_tables.write(sample.assign(**SAMPLE), job.public / "sample_submission.csv")


def _split_questions(rows: pd.DataFrame) -> Split:
    """Split so that rows with the same title and body stay together."""
    questions = rows.groupby(["Title", "Body"], sort=False).ngroup()
    return random_groups(questions, test=0.1, seed=0)
