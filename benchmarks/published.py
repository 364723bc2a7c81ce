"""What the published preparations do, written with the same libraries, to compare with.

    python benchmarks/published.py table RAW TARGET

As there, preparing ends with the MD5 of every prepared table, read 4 kB at a time.
It needs scikit-learn and, for the BSON file, pymongo, which `make bench` installs.
"""

import hashlib
import sys
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO

import pandas as pd
from sklearn.model_selection import train_test_split


def prepare_table(raw: Path, target: Path) -> None:
    """Parse the whole table, shuffle it, and print it."""
    rides = pd.read_csv(raw / "train.csv")
    train, test = train_test_split(rides, test_size=9914, random_state=0)
    train.to_csv(target / "labels.csv", index=False)
    test.drop(columns="fare_amount").to_csv(target / "test.csv", index=False)
    test[["key"]].assign(fare_amount=11.35).to_csv(target / "sample_submission.csv", index=False)
    test.to_csv(target / "answers.csv", index=False)
    if not set(train["key"]).isdisjoint(set(test["key"])):
        raise SystemExit("train and test share keys")


def prepare_json_lines(raw: Path, target: Path) -> None:
    """Parse, split and print 1,000 lines at a time."""
    name = "simplified-nq-train.jsonl"
    public = ["example_id", "question_text", "document_text", "long_answer_candidates"]
    with (raw / name).open() as file:
        count = sum(1 for _ in file)
    done, labels = 0, []
    for portion in pd.read_json(raw / name, orient="records", lines=True, chunksize=1000):
        portion["example_id"] = portion["example_id"].astype(str)
        train, test = train_test_split(portion, test_size=0.1, random_state=0)
        for file_name, part in ((name, train), ("answers.jsonl", test), ("test.jsonl", test.copy()[public])):
            with (target / file_name).open("a") as file:
                file.write(part.to_json(orient="records", lines=True))
        labels.append(test.copy()[["example_id", "question_text", "annotations"]])
        done += len(portion)
    if done != count:
        raise SystemExit("some lines were not split")
    rows = []
    for _, question in pd.concat(labels, ignore_index=True).iterrows():
        (annotation,) = question["annotations"]
        short = [annotation["yes_no_answer"]] * (annotation["yes_no_answer"] != "NONE")
        short += [f"{phrase['start_token']}:{phrase['end_token']}" for phrase in annotation["short_answers"]]
        passage = annotation["long_answer"]
        long = "" if passage["start_token"] == -1 else f"{passage['start_token']}:{passage['end_token']}"
        for kind, answer in (("short", short[0] if short else ""), ("long", long)):
            rows.append({"example_id": f"{question['example_id']}_{kind}", "PredictionString": answer})
    gold = pd.DataFrame(rows)
    gold.to_csv(target / "gold_submission.csv", index=False)
    gold.assign(PredictionString="").to_csv(target / "sample_submission.csv", index=False)


def prepare_bson(raw: Path, target: Path) -> None:
    """Decode the file for the ids, once for each side, and both sides once more to check them."""
    ids = _read_ids(raw / "train.bson")
    train, answers = train_test_split(ids, test_size=0.1, random_state=0)
    answers = answers.sort_values("_id")
    answers.to_csv(target / "answers.csv", index=False)
    answers[["_id"]].assign(category_id=1000010653).to_csv(target / "sample_submission.csv", index=False)
    _filter(raw / "train.bson", set(train["_id"]), target / "train.bson")
    _filter(raw / "train.bson", set(answers["_id"]), target / "test.bson", dropped="category_id")
    _filter(raw / "train.bson", set(train["_id"]), target / "train_example.bson", limit=100)
    for name in ("train.bson", "test.bson"):
        with (target / name).open("rb") as file:
            documents = _decode(file)
            while part := list(islice(documents, 10_000)):
                pd.DataFrame(part)
    _read_ids(target / "train.bson")


def _read_ids(path: Path) -> pd.DataFrame:
    with path.open("rb") as file:
        return pd.DataFrame([{name: record[name] for name in ("_id", "category_id")} for record in _decode(file)])


def _filter(source: Path, ids: set[int], target: Path, *, dropped: str | None = None, limit: int | None = None) -> None:
    import bson

    with source.open("rb") as file, target.open("wb") as output:
        for record in islice((record for record in _decode(file) if record["_id"] in ids), limit):
            record.pop(dropped, None)
            output.write(bson.BSON.encode(record))


def _decode(file: IO[bytes]):  # noqa: ANN202 - documents of pymongo, which has no types here
    import bson

    return bson.decode_file_iter(file)


PUBLISHED = {"table": prepare_table, "json-lines": prepare_json_lines, "bson": prepare_bson}


def compute_checksums(folder: Path) -> None:
    """Hash the prepared tables."""
    for path in folder.iterdir():
        digest = hashlib.md5(usedforsecurity=False)
        with path.open("rb") as file:
            for part in iter(partial(file.read, 4096), b""):
                digest.update(part)


if __name__ == "__main__":
    PUBLISHED[sys.argv[1]](Path(sys.argv[2]), Path(sys.argv[3]))
    compute_checksums(Path(sys.argv[3]))
