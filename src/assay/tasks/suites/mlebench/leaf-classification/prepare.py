"""Makes the leaf-classification task: labelled leaves split at random, with a column for each species."""

from pathlib import Path

from assay.data import archives, frames
from assay.data.splits import random_rows


def prepare(raw: Path, public: Path, private: Path, edition: str) -> None:
    """Every species occurs in the raw labels, so that their sorted names are the columns of a submission."""
    with archives.open_member(raw / "train.csv.zip", "train.csv") as file:
        leaves = frames.read(file)
    species = sorted(set(leaves["species"]))
    train, test = frames.split(leaves, random_rows(len(leaves), test=0.1, seed=0))
    frames.write(train, public / "train.csv")
    frames.write(test.drop(columns="species"), public / "test.csv")
    frames.write(frames.one_hot(test, "id", "species", species), private / "test.csv")
    frames.write(frames.sample(test, "id", dict.fromkeys(species, 1 / len(species))), public / "sample_submission.csv")
    names = [f"images/{id}.jpg" for id in leaves["id"]]
    archives.extract(raw / "images.zip", ((name, public / name) for name in names))
