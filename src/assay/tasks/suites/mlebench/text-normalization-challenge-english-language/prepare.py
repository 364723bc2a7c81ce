"""Makes the English text normalization task: text as it is written, token by token, and how it is read."""

import csv
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from assay.data import archives, frames
from assay.data.splits import appearance_numbers, random_groups

COLUMNS = ["sentence_id", "token_id", "class", "before", "after"]


def prepare(raw: Path, public: Path, private: Path, edition: str) -> None:
    """Sentences stay whole and get new numbers on either side; only `fixed` keeps words that pandas takes for gaps."""
    with archives.open_member(raw / "en_train.csv.zip", "en_train.csv") as file:
        tokens = frames.read(file, keep_default_na=edition != "fixed")
    frames.check_columns(tokens, COLUMNS, "en_train.csv")
    rows = random_groups(tokens["sentence_id"].tolist(), test=0.1, seed=0)
    train, test = (_renumbered(side) for side in frames.split(tokens, rows))
    ids = test["sentence_id"].astype(str) + "_" + test["token_id"].astype(str)
    sample = pd.DataFrame({"id": ids, "after": test["before"]})
    with TemporaryDirectory(dir=private) as folder:
        for name, table in (
            ("en_train.csv", train),
            ("en_test_2.csv", test[["sentence_id", "token_id", "before"]]),
            ("en_sample_submission_2.csv", sample),
        ):
            _write(table, Path(folder, name))
            archives.pack(public / f"{name}.zip", [(name, Path(folder, name))], method="stored")
    _write(sample, private / "sample_submission.csv")
    _write(pd.DataFrame({"id": ids, "after": test["after"]}), private / "answers.csv")


def _renumbered(tokens: pd.DataFrame) -> pd.DataFrame:
    return tokens.assign(sentence_id=appearance_numbers(tokens["sentence_id"].tolist()))


def _write(table: pd.DataFrame, path: Path) -> None:
    """Write a CSV file with quotes around everything but numbers."""
    frames.write(table, path, quoting=csv.QUOTE_NONNUMERIC)
