"""Random acts of pizza: requests as JSON records; test records have only the fields known when they were posted."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from assay.core.errors import SourceError
from assay.data import archives, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_rows

Record = dict[str, Any]

ID, TARGET = "request_id", "requester_received_pizza"
GIVER = "giver_username_if_known"


def prepare(job: PrepareJob) -> None:
    """Give the test set the share and the fields that Kaggle's own test set has.

    `fixed` removes the name of the giver: a name there means that the requester received a pizza.
    """
    requests, unlabelled = (json.loads((job.raw / name).read_bytes()) for name in ("train.json", "test.json"))
    if any(each.keys() != records[0].keys() for records in (requests, unlabelled) for each in records):
        raise SourceError("the records of train.json or of test.json do not all have the same fields")
    rows = random_rows(len(requests), test=len(unlabelled) / (len(requests) + len(unlabelled)), seed=0)
    train, test = ([requests[row] for row in side] for side in rows)
    answers = pd.DataFrame({ID: [each[ID] for each in test], TARGET: [int(each[TARGET]) for each in test]})
    pandas_tables.write(answers, job.private / "test.csv")
    pandas_tables.write(pandas_tables.sample(answers, ID, {TARGET: 0}), job.public / "sampleSubmission.csv")
    hidden = {GIVER} if job.edition == "fixed" else set()
    _write(job.public / "train.json", [_only(request, request, hidden) for request in train])
    _write(job.public / "test.json", [_only(request, unlabelled[0], hidden) for request in test])


def _only(request: Record, fields: Iterable[str], hidden: set[str]) -> Record:
    """Return these fields of a request, in their order, except the hidden ones."""
    return {field: request[field] for field in fields if field not in hidden}


def _write(path: Path, records: list[Record]) -> None:
    """Write records as a JSON file, and the same file inside a zip file."""
    path.write_text(json.dumps(records, indent=4))
    archives.pack(path.with_suffix(".zip"), [(path.name, path)])
