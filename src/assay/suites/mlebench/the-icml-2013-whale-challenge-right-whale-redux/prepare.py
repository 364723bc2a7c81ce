"""Right whale redux: two days of sound clips for training, and the next two days for the test."""

import re
from pathlib import Path

import pandas as pd

from assay.core.errors import SourceError
from assay.data import archives, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import by_predicate, widen

HOUR = len("20090328_00")


def prepare(job: PrepareJob) -> None:
    """Split by day, which starts a clip's name; clips get new numbers, and test clips lose the label in their name."""
    clips = archives.list_folder(job.raw / "train2.zip", "train2")
    days = sorted({_day(clip) for clip in clips})
    if len(days) != 4:
        raise SourceError(f"train2.zip holds clips of {len(days)} days instead of four: {', '.join(days[:6])}")
    # Of the training clips, the last hours are the most like the days of the test.
    rows = widen(
        by_predicate([_day(clip) in days[2:] for clip in clips]), [clip[:HOUR] for clip in clips], in_order=True
    )
    train, test = ([clips[row] for row in side] for side in rows)
    if odd := [clip for clip in train if not clip.endswith(".aif")]:
        raise SourceError(f"train2.zip holds {odd[0]}, which is not an .aif file")
    train_names = [re.sub(r"TRAIN\d+", f"TRAIN{number}", clip) for number, clip in enumerate(train)]
    test_names = [f"{clip.partition('TRAIN')[0]}Test{number}.aif" for number, clip in enumerate(test)]
    for folder, old, new in (("train2", train, train_names), ("test2", test, test_names)):
        members = ((f"train2/{before}", after) for before, after in zip(old, new, strict=True))
        archives.repack(job.public / f"{folder}.zip", job.raw / "train2.zip", members, folder=folder)
    labels = [int(Path(clip).stem.endswith("_1")) for clip in test]
    answers = pd.DataFrame({"clip": test_names, "probability": labels})
    pandas_tables.write(answers, job.private / "test.csv")
    pandas_tables.write(pandas_tables.sample(answers, "clip", {"probability": 0}), job.public / "sampleSubmission.csv")


def _day(clip: str) -> str:
    return clip.partition("_")[0]
