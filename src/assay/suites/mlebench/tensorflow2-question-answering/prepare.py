"""Question answering: pages with questions, split at random in portions of 1,000 lines."""

from collections.abc import Iterable, Sequence
from typing import IO

from assay.core.errors import SourceError
from assay.core.progress import ByteCount, stage
from assay.data.job import PrepareJob
from assay.data.splits import random_rows

from .._shared.plain_tables import write_table
from .answers import list_right_answers
from .records import Record, read_portion

RECORDS = "simplified-nq-train.jsonl"
PUBLIC = ["example_id", "question_text", "document_text", "long_answer_candidates"]
PORTION = 1000
BUFFER = 2**22  # much longer than a line
Row = tuple[str, str]


def prepare(job: PrepareJob) -> None:
    """Write the records as pandas does, which infers the types of each portion; only one is in memory at a time."""
    gold: list[Row] = []
    with (
        (job.raw / RECORDS).open("rb", buffering=BUFFER) as raw_file,
        (job.public / RECORDS).open("wb") as train_file,
        (job.public / "simplified-nq-test.jsonl").open("wb") as test_file,
        (job.private / "test.jsonl").open("wb") as private_file,
        stage("Splitting questions", ByteCount((job.raw / RECORDS).stat().st_size)) as advance,
    ):
        done = 0
        while records := read_portion(raw_file, PORTION):
            gold += _write_portion(records, train_file, test_file, private_file)
            advance(raw_file.tell() - done)
            done = raw_file.tell()
            del records  # or two portions would be in memory
    names = ("example_id", "PredictionString")
    write_table(job.private / "gold_submission.csv", names, gold)
    write_table(job.public / "sample_submission.csv", names, ((id, "") for id, _ in gold))


def _write_portion(
    records: Sequence[Record], train_file: IO[bytes], test_file: IO[bytes], private_file: IO[bytes]
) -> list[Row]:
    """Split a portion, write both sides, and return the rows of the gold submission."""
    train, test = ([records[row] for row in side] for side in random_rows(len(records), test=0.1, seed=0))
    names = list(records[0].fields)
    for side, columns, file in ((train, names, train_file), (test, PUBLIC, test_file), (test, names, private_file)):
        file.writelines(part for record in side for part in record.to_line(columns))
    return [row for record in test for row in _list_gold(record)]


def _list_gold(record: Record) -> Iterable[Row]:
    if len(record.annotations) != 1:
        raise SourceError(f"{RECORDS}: record {record.id} has {len(record.annotations)} annotations; expected is one")
    right = list_right_answers(record.annotations[0])
    return [(f"{record.id}_{kind}", answers[0] if answers else "") for kind, answers in right.items()]
