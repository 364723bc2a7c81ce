"""Billion word imputation: about one sentence in a hundred is for the test, where it lacks a random word."""

import io
import shutil
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TextIO

import numpy as np

from assay.data import archives
from assay.data.job import PrepareJob

LINES = 30_301_028
SHARE = 0.01
HEADER = '"id","sentence"\n'


def prepare(job: PrepareJob) -> None:
    """Read the sentences one by one; lines after those of the real data are ignored."""
    with TemporaryDirectory(dir=job.private) as scratch:
        train, test = (Path(scratch, name) for name in ("train_v2.txt", "test_v2.txt"))
        with (
            archives.open_member(job.raw / "train_v2.txt.zip", "train_v2.txt") as content,
            io.TextIOWrapper(content, encoding="utf-8") as sentences,
            _create(train) as train_file,
            _create(test) as test_file,
            _create(job.private / "test.csv") as answers_file,
        ):
            _split(sentences, train_file, test_file, answers_file)
        shutil.copyfile(test, job.private / "sample_submission.csv")
        for path in (train, test):
            archives.pack(job.public / f"{path.name}.zip", [(path.name, path)])


def _split(sentences: TextIO, train: TextIO, test: TextIO, answers: TextIO) -> None:
    """Draw a number for every line, and for a test sentence also the place of its missing word, never an end."""
    draw = np.random.RandomState(0)
    test.write(HEADER)
    answers.write(HEADER)
    count = 0
    for line in islice(sentences, LINES):
        words = line.replace('"', '""').split() if draw.uniform() <= SHARE else []
        if len(words) <= 2:
            train.write(line)
            continue
        del words[draw.randint(1, len(words) - 1)]
        sentence = line.strip().replace('"', '""')
        answers.write(f'{count},"{sentence}"\n')
        test.write(f'{count},"{" ".join(words)}"\n')
        count += 1


def _create(path: Path) -> TextIO:
    return path.open("w", encoding="utf-8", newline="\n")
