"""Makes the detecting-insults-in-social-commentary task: the competition's own split, whose labels were released."""

from pathlib import Path

from assay.core.errors import SourceError
from assay.data import files, pandas_tables

COLUMNS = ["Insult", "Date", "Comment"]


def prepare(raw: Path, public: Path, private: Path, edition: str) -> None:
    """A row's id is its comment; the files with labels pass through as they are, byte for byte."""
    train, test = pandas_tables.read(raw / "train.csv"), pandas_tables.read(raw / "test_with_solutions.csv")
    pandas_tables.check_columns(train, COLUMNS, "train.csv")
    pandas_tables.check_columns(test, [*COLUMNS, "Usage"], "test_with_solutions.csv")
    if train["Comment"].isin(test["Comment"]).any():
        raise SourceError("a comment of test_with_solutions.csv is in train.csv as well")
    files.copy([
        (raw / "train.csv", public / "train.csv"),
        (raw / "test_with_solutions.csv", private / "test.csv"),
    ])  # fmt: skip
    gold = test.drop(columns="Usage")
    pandas_tables.write(gold, private / "gold_submission.csv")
    pandas_tables.write(gold.drop(columns="Insult"), public / "test.csv")
    pandas_tables.write(gold.assign(Insult=0), public / "sample_submission_null.csv")
