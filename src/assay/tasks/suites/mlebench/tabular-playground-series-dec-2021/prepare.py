"""Makes the forest-cover task: a tenth of 4 million made-up patches of land is to be classified."""

from pathlib import Path

from assay.data import frames
from assay.data.splits import random_rows


def prepare(raw: Path, public: Path, private: Path, edition: str) -> None:
    """Ids stay as they are."""
    patches = frames.read(raw / "train.csv")
    train, test = frames.split(patches, random_rows(len(patches), test=0.1, seed=0))
    frames.write_csv_split(train, test, public=public, private=private, id="Id", sample={"Cover_Type": 2})
