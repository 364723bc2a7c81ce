"""Google QUEST: rated questions and answers split at random."""

import numpy as np
import pandas as pd

from assay.data import pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import Split, random_rows

RARE = "question_type_spelling"


def prepare(job: PrepareJob) -> None:
    """Write ratings in the order of a submission, and a sample submission that rises from 0 to 1 down the rows."""
    rows = pandas_tables.read(job.raw / "train.csv")
    train, test = pandas_tables.split(rows, vary_rare_rating(random_rows(len(rows), test=0.1, seed=0), rows[RARE]))
    pandas_tables.write(train, job.public / "train.csv")
    pandas_tables.write(test.drop(columns=job.columns), job.public / "test.csv")
    pandas_tables.write(test[["qa_id", *job.columns]], job.private / "test.csv")
    ramp = dict.fromkeys(job.columns, np.linspace(0, 1, len(test)))
    pandas_tables.write(pd.DataFrame({"qa_id": test["qa_id"], **ramp}), job.public / "sample_submission.csv")


def vary_rare_rating(split: Split, ratings: pd.Series) -> Split:
    """Swap the first test row with the first training row that is not rated 0, if all test rows are rated alike."""
    train, test = split.train.copy(), split.test.copy()
    if ratings.iloc[test].nunique() == 1:
        row = int(np.flatnonzero(ratings.iloc[train].to_numpy() != 0)[0])
        train[row], test[0] = test[0], train[row]
    return Split(train, test)
