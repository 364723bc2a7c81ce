"""Phoneme classification: frames of speech, each with its five neighbors on either side, as arrays."""

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from assay.data import pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_rows_or_groups
from assay.formats import npy

FEATURES = 39
LONGEST = 2000  # frames, twenty seconds: more than any utterance has
CHUNK = 100_000


def prepare(job: PrepareJob) -> None:
    """Give the test set the share of frames that the competition's own unlabeled test set had.

    `fixed` keeps utterances whole.
    """
    arrays = Path("timit_11/timit_11")
    sounds, labels, unlabeled = (
        npy.open_array(job.raw / arrays / f"{name}_11.npy") for name in ("train", "train_label", "test")
    )
    share = len(unlabeled) / (len(sounds) + len(unlabeled))
    repaired = job.edition == "fixed"
    groups = _utterances(sounds) if repaired else range(len(sounds))
    train, test = random_rows_or_groups(groups, by_group=repaired, test=share, seed=0)
    npy.write_rows(sounds, train, job.public / arrays / "train_11.npy")
    npy.write_rows(labels, train, job.public / arrays / "train_label_11.npy")
    npy.write_rows(sounds, test, job.public / arrays / "test_11.npy")
    answers = pd.DataFrame({"Id": range(len(test)), "ClassId": labels[test]})
    pandas_tables.write(answers, job.private / "answers.csv")
    pandas_tables.write(pandas_tables.sample(answers, "Id", {"ClassId": 0}), job.public / "sampleSubmission.csv")


def _utterances(sounds: NDArray[np.float32]) -> list[tuple[int, int]]:
    """Return for each row the number of its utterance, and the part of it if it is too long to be one.

    Nothing names the utterances, but a row repeats all but the first frame of the row before it, unless it starts one.
    """
    continues = [np.zeros(1, bool)]
    for first in range(0, len(sounds) - 1, CHUNK):
        rows = sounds[first : first + CHUNK + 1]
        continues.append((rows[1:, :-FEATURES] == rows[:-1, FEATURES:]).all(axis=1))
    starts = ~np.concatenate(continues)
    number = np.cumsum(starts) - 1
    position = np.arange(len(sounds)) - np.flatnonzero(starts)[number]
    return list(zip(number.tolist(), (position // LONGEST).tolist(), strict=True))
