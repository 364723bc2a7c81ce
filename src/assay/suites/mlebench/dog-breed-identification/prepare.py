"""Makes the dog-breed-identification task: labelled photographs split at random, with a column for each breed."""

import tomllib
from pathlib import Path

from assay.data import files, pandas_tables
from assay.data.splits import random_rows


def prepare(raw: Path, public: Path, private: Path, edition: str) -> None:
    """The breeds are those that a submission has columns for, whether or not they occur in the raw labels."""
    task = tomllib.loads(Path(__file__).with_name("task.toml").read_text())
    breeds = task["submission"]["alike"][0]["names"]
    labels = pandas_tables.read(raw / "labels.csv")
    train, test = pandas_tables.split(labels, random_rows(len(labels), test=0.1, seed=0))
    pandas_tables.write(train, public / "labels.csv")
    pandas_tables.write(pandas_tables.one_hot(test, "id", "breed", breeds), private / "test.csv")
    pandas_tables.write(
        pandas_tables.sample(test, "id", dict.fromkeys(breeds, 1 / len(breeds))), public / "sample_submission.csv"
    )
    for side, table in (("train", train), ("test", test)):
        names = [f"{id}.jpg" for id in table["id"]]
        files.copy((raw / "train" / name, public / side / name) for name in names)
