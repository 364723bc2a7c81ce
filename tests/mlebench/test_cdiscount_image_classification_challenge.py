import struct
from pathlib import Path

import pandas as pd
import pytest
from competition import Competition, Files, Miniatures, prepare_raw, split, to_csv, write_file
from graders import accuracy

from assay.core.errors import SourceError
from assay.grading import grade_submission

INT32, INT64, DOUBLE, ARRAY, BINARY = b"\x10", b"\x12", b"\x01", b"\x04", b"\x05"
TIMESTAMP, DECIMAL, MIN_KEY = b"\x11", b"\x13", b"\xff"
FORMATS = {INT32: "<i", INT64: "<q", DOUBLE: "<d", TIMESTAMP: "<Q", DECIMAL: "16s", MIN_KEY: ""}


class TestCdiscountImageClassificationChallenge(Competition):
    name = "cdiscount-image-classification-challenge"
    id = "_id"
    targets = ("category_id",)
    predictions = "class"

    def prepare_reference(self, raw: Path) -> Files:
        documents = [parse(document) for document in cut((raw / "train.bson").read_bytes())]
        numbers = [{key: number(document[key]) for key in ("_id", "category_id")} for document in documents]
        train, test = split(pd.DataFrame(numbers), test_size=0.1)
        answers = test.sort_values("_id")
        in_train, in_test = (set(side["_id"]) for side in (train, test))
        kept = [encode(document) for document, row in zip(documents, numbers, strict=True) if row["_id"] in in_train]
        hidden = [
            encode({key: value for key, value in document.items() if key != "category_id"})
            for document, row in zip(documents, numbers, strict=True)
            if row["_id"] in in_test
        ]
        return {
            "public/train.bson": b"".join(kept),
            "public/train_example.bson": b"".join(kept[:100]),
            "public/test.bson": b"".join(hidden),
            "public/category_names.csv": (raw / "category_names.csv").read_bytes(),
            "public/sample_submission.csv": to_csv(answers.assign(category_id=1000010653)),
            "private/answers.csv": to_csv(answers),
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        return accuracy(submission, answers, "_id", "category_id")

    def test_any_order_of_fields_and_ids_of_any_size(self, raw: Path) -> None:
        """An _id comes first when a document is written again; everything else keeps its place, size and content."""
        documents = []
        for number in range(30):
            id = (INT64, struct.pack("<q", 2**40 - number)) if number % 3 else (INT32, struct.pack("<i", -number))
            kind = (DOUBLE, TIMESTAMP, DECIMAL, MIN_KEY)[number % 4]
            value = bytes(struct.calcsize(FORMATS[kind]))
            others = {"a": (kind, value), "category_id": (INT32, struct.pack("<i", number % 4))}
            documents.append({**others, "_id": id} if number % 2 else {"_id": id, **others})
        contents = [bare(document) for document in documents]
        write_file(raw / "train.bson", b"".join(contents))
        write_file(raw / "category_names.csv", b"\xff\r\n")
        files = prepare_raw(self.name, raw)
        assert files == self.prepare_reference(raw)
        assert files["public/train.bson"] == files["public/train_example.bson"]
        assert files["public/train.bson"] not in b"".join(contents)

    def test_a_category_that_is_not_a_number_is_refused(self, raw: Path) -> None:
        fields = {"_id": (DOUBLE, struct.pack("<d", 1.5)), "category_id": (INT32, struct.pack("<i", 1))}
        write_file(raw / "train.bson", bare(fields))
        with pytest.raises(SourceError, match=r"has the _id 1\.5 and the category_id 1; expected are integers"):
            prepare_raw(self.name, raw)

    def test_the_answers_score_1_in_fixed(self, miniatures: Miniatures) -> None:
        prepared = miniatures.prepared(self.name, "fixed")
        answers = (prepared.private / "answers.csv").read_bytes()
        assert grade_submission(answers, prepared, home=miniatures.home).score == 1


Fields = dict[str, tuple[bytes, bytes]]
"""The type and the bytes of each value."""


def cut(content: bytes) -> list[bytes]:
    """Cut a file into documents, each of which begins with its size."""
    documents = []
    while content:
        size = int.from_bytes(content[:4], "little")
        documents.append(content[:size])
        content = content[size:]
    return documents


def parse(document: bytes) -> Fields:
    """Read a document by the BSON specification, as far as the competition needs it."""
    fields, rest = {}, document[4:-1]
    while rest:
        kind, (name, _, rest) = rest[:1], rest[1:].partition(b"\0")
        if kind in FORMATS:
            size = struct.calcsize(FORMATS[kind])
        else:
            size = int.from_bytes(rest[:4], "little") + {ARRAY: 0, BINARY: 5}[kind]
        fields[name.decode()] = (kind, rest[:size])
        rest = rest[size:]
    return fields


def number(value: tuple[bytes, bytes]) -> int:
    return struct.unpack(FORMATS[value[0]], value[1])[0]


def encode(fields: Fields) -> bytes:
    """Write a document as MongoDB's library does, which puts `_id` first."""
    return bare({"_id": fields["_id"], **fields})


def bare(fields: Fields) -> bytes:
    """Write a document with its fields in their order."""
    body = b"".join(kind + name.encode() + b"\0" + value for name, (kind, value) in fields.items())
    return struct.pack("<i", len(body) + 5) + body + b"\0"
