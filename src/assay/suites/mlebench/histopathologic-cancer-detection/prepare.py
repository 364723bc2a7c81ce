"""Makes the histopathologic-cancer-detection task: labelled patches split at random, in their old order."""

from pathlib import Path

import numpy as np

from assay.data import files, pandas_tables
from assay.data.splits import Split, random_rows


def prepare(raw: Path, public: Path, private: Path, edition: str) -> None:
    """The test side takes the share of all patches that the competition's own unlabelled test had."""
    labels = pandas_tables.read(raw / "train_labels.csv")
    unlabelled = len(files.listed(raw / "test", ".tif"))
    split = random_rows(len(labels), test=unlabelled / (len(labels) + unlabelled), seed=0)
    train, test = pandas_tables.split(labels, Split(*map(np.sort, split)))
    pandas_tables.write_csv_split(
        train, test, id="id", sample={"label": 0}, whole_sample=True, public=public, private=private,
        train_name="train_labels.csv", test_name=None, answers_name="answers.csv",
    )  # fmt: skip
    for side, table in (("train", train), ("test", test)):
        names = [f"{id}.tif" for id in table["id"]]
        files.copy((raw / "train" / name, public / side / name) for name in names)
