"""ALASKA2 steganalysis: for each test photo, chance decides whether it is unaltered or which algorithm altered it."""

import random

import pandas as pd

from assay.data import files, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_rows

ALGORITHMS = ["JMiPOD", "JUNIWARD", "UERD"]
TEST = 5000
SMALLER_SHARE = 15


def prepare(job: PrepareJob) -> None:
    """Split the photos, renumber both sides, and draw the version of each test photo with Python's generator.

    Of 5,000 photos or fewer, which the published preparation refuses, a fifteenth is for the test, as of the real data.
    """
    covers = [path.name for path in files.list_files(job.raw / "Cover", ".jpg")]
    size = TEST if len(covers) > TEST else len(covers) // SMALLER_SHARE
    train, test = ([covers[row] for row in side] for side in random_rows(len(covers), test=size, seed=42))
    draw = random.Random(0)
    first = test[:size]
    draw.shuffle(first)
    test[:size] = first
    versions = ["Cover" if draw.choice([True, False]) else draw.choice(ALGORITHMS) for _ in test]
    names = [f"{number:04d}.jpg" for number in range(1, len(test) + 1)]
    answers = pd.DataFrame({"Id": names, "Label": [int(version != "Cover") for version in versions]})
    pandas_tables.write(answers, job.private / "test.csv")
    pandas_tables.write(answers.assign(Label=0), job.public / "sample_submission.csv")
    files.copy(
        (job.raw / folder / old, job.public / folder / f"{number:05d}.jpg")
        for folder in ("Cover", *ALGORITHMS)
        for number, old in enumerate(train, 1)
    )
    pairs = zip(versions, test, names, strict=True)
    files.copy((job.raw / version / old, job.public / "Test" / new) for version, old, new in pairs)
