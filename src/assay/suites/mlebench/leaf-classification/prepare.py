"""Makes the leaf-classification task: labelled leaves split at random, with a column for each species."""

import tomllib
from pathlib import Path

from assay.data import archives, pandas_tables
from assay.data.splits import random_rows


def prepare(raw: Path, public: Path, private: Path, edition: str) -> None:
    """The species are those that a submission has columns for; `v1` appends any other that is in the test.

    An empty folder for pictures is among the private files, as published.
    """
    task = tomllib.loads(Path(__file__).with_name("task.toml").read_text())
    species = task["submission"]["alike"][0]["names"]
    with archives.open_member(raw / "train.csv.zip", "train.csv") as file:
        leaves = pandas_tables.read(file)
    train, test = pandas_tables.split(leaves, random_rows(len(leaves), test=0.1, seed=0))
    pandas_tables.write(train, public / "train.csv")
    pandas_tables.write(test.drop(columns="species"), public / "test.csv")
    answers = pandas_tables.one_hot(test, "id", "species", species, append_unlisted=edition == "v1")
    pandas_tables.write(answers, private / "test.csv")
    pandas_tables.write(answers.assign(**dict.fromkeys(species, 1 / len(species))), public / "sample_submission.csv")
    (private / "images").mkdir()
    names = [f"images/{id}.jpg" for id in leaves["id"]]
    archives.extract(raw / "images.zip", ((name, public / name) for name in names))
