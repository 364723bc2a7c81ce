"""Makes the dog-breed-identification task: labelled photographs split at random, with a column for each breed."""

from pathlib import Path

from assay.data import files, frames
from assay.data.splits import random_rows


def prepare(raw: Path, public: Path, private: Path, edition: str) -> None:
    """Every breed occurs in the raw labels, so that their sorted names are the columns of a submission."""
    labels = frames.read(raw / "labels.csv")
    breeds = sorted(set(labels["breed"]))
    train, test = frames.split(labels, random_rows(len(labels), test=0.1, seed=0))
    frames.write(train, public / "labels.csv")
    frames.write(frames.one_hot(test, "id", "breed", breeds), private / "test.csv")
    frames.write(frames.sample(test, "id", dict.fromkeys(breeds, 1 / len(breeds))), public / "sample_submission.csv")
    for side, table in (("train", train), ("test", test)):
        names = [f"{id}.jpg" for id in table["id"]]
        files.copy((raw / "train" / name, public / side / name) for name in names)
