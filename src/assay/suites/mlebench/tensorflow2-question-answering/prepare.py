"""Question answering: pages with questions, split at random in portions of 1,000 lines."""

import io
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import IO

import pandas as pd

from assay.core.errors import SourceError
from assay.data import pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_rows

from .answers import list_right_answers

RECORDS = "simplified-nq-train.jsonl"
PUBLIC = ["example_id", "question_text", "document_text", "long_answer_candidates"]
PORTION = 1000
ROWS = 100
Row = tuple[str, str]


def prepare(job: PrepareJob) -> None:
    """Write the records as pandas does, which infers the types of each portion; only one is in memory at a time."""
    gold: list[Row] = []
    with (
        (job.public / RECORDS).open("w", encoding="utf-8") as train_file,
        (job.public / "simplified-nq-test.jsonl").open("w", encoding="utf-8") as test_file,
        (job.private / "test.jsonl").open("w", encoding="utf-8") as private_file,
    ):
        for records in _read_portions(job.raw / RECORDS):
            gold += _write_portion(records, train_file, test_file, private_file)
            del records  # or two portions would be in memory
    table = pd.DataFrame(gold, columns=["example_id", "PredictionString"])
    pandas_tables.write(table, job.private / "gold_submission.csv")
    pandas_tables.write(table.assign(PredictionString=""), job.public / "sample_submission.csv")


def _write_portion(records: pd.DataFrame, train_file: IO[str], test_file: IO[str], private_file: IO[str]) -> list[Row]:
    """Split a portion, write both sides, and return the rows of the gold submission."""
    train, test = pandas_tables.split(records, random_rows(len(records), test=0.1, seed=0))
    for frame, file in ((train, train_file), (test[PUBLIC], test_file), (test, private_file)):
        for start in range(0, len(frame), ROWS):  # pandas copies the text several times
            file.write(frame.iloc[start : start + ROWS].to_json(orient="records", lines=True))
    gold: list[Row] = []
    for id, annotations in zip(test["example_id"], test["annotations"], strict=True):
        if len(annotations) != 1:
            raise SourceError(f"{RECORDS}: record {id} has {len(annotations)} annotations; expected is one")
        right = list_right_answers(annotations[0])
        gold += [(f"{id}_{kind}", answers[0] if answers else "") for kind, answers in right.items()]
    return gold


def _read_portions(path: Path) -> Iterator[pd.DataFrame]:
    with path.open("rb") as file:
        while lines := list(islice(file, PORTION)):
            if any(line.isspace() for line in lines):
                raise SourceError(f"{RECORDS} has a blank line")
            portion = io.BytesIO(b"".join(lines))
            del lines
            records = pd.read_json(portion, orient="records", lines=True)
            del portion
            records["example_id"] = records["example_id"].astype(str)
            yield records
            del records
