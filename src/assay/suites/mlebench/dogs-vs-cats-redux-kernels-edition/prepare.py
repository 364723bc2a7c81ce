"""Dogs vs. cats redux: photographs split at random and renumbered."""

from itertools import count

import pandas as pd

from assay.data import archives, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_rows


def prepare(job: PrepareJob) -> None:
    """Name training photographs after what they show and test photographs by number only."""
    photographs = archives.list_folder(job.raw / "train.zip", "train", ".jpg")
    train, test = ([photographs[row] for row in rows] for rows in random_rows(len(photographs), test=0.1, seed=0))
    numbers = {"cat": count(), "dog": count()}
    kinds = ["cat" if "cat" in name else "dog" for name in train]
    sides = {
        "train": [(name, f"{kind}.{next(numbers[kind])}.jpg") for name, kind in zip(train, kinds, strict=True)],
        "test": [(name, f"{number}.jpg") for number, name in enumerate(test, start=1)],
    }
    for side, renamed in sides.items():
        members = [(f"train/{old}", new) for old, new in renamed]
        archives.extract(job.raw / "train.zip", ((old, job.public / side / new) for old, new in members))
        archives.repack(job.public / f"{side}.zip", job.raw / "train.zip", members)
    answers = pd.DataFrame({"id": range(1, len(test) + 1), "label": [int("dog" in name) for name in test]})
    pandas_tables.write(answers, job.private / "answers.csv")
    pandas_tables.write(pandas_tables.sample(answers, "id", {"label": 0.5}), job.public / "sample_submission.csv")
