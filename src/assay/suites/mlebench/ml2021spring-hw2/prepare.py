"""Makes the phoneme task: frames of speech, each with its five neighbours on either side, as arrays."""

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from assay.data import pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_groups, random_rows

FEATURES = 39
LONGEST = 2000  # frames, twenty seconds: more than any utterance has
CHUNK = 100_000


def prepare(job: PrepareJob) -> None:
    """The competition's own test part, which has no labels, only tells how large a share of the frames the test is."""
    arrays = Path("timit_11/timit_11")
    sounds, labels, unlabelled = (
        np.load(job.raw / arrays / f"{name}_11.npy", mmap_mode="r") for name in ("train", "train_label", "test")
    )
    share = len(unlabelled) / (len(sounds) + len(unlabelled))
    if job.edition == "fixed":
        train, test = random_groups(_utterances(sounds), test=share, seed=0)
    else:
        train, test = random_rows(len(sounds), test=share, seed=0)
    (job.public / arrays).mkdir(parents=True)
    np.save(job.public / arrays / "train_11.npy", sounds[train])
    np.save(job.public / arrays / "train_label_11.npy", labels[train])
    np.save(job.public / arrays / "test_11.npy", sounds[test])
    answers = pd.DataFrame({"Id": range(len(test)), "ClassId": labels[test]})
    pandas_tables.write(answers, job.private / "answers.csv")
    pandas_tables.write(pandas_tables.sample(answers, "Id", {"ClassId": 0}), job.public / "sampleSubmission.csv")


def _utterances(sounds: NDArray[np.float32]) -> list[tuple[int, int]]:
    """For each row the number of its utterance, and which part of it where it is too long to be one.

    Nothing names the utterances, but a row repeats all but the first frame of the row before it, unless it begins one.
    """
    goes_on = [np.zeros(1, bool)]
    for first in range(0, len(sounds) - 1, CHUNK):
        rows = sounds[first : first + CHUNK + 1]
        goes_on.append((rows[1:, :-FEATURES] == rows[:-1, FEATURES:]).all(axis=1))
    begins = ~np.concatenate(goes_on)
    number = np.cumsum(begins) - 1
    place = np.arange(len(sounds)) - np.flatnonzero(begins)[number]
    return list(zip(number.tolist(), (place // LONGEST).tolist(), strict=True))
