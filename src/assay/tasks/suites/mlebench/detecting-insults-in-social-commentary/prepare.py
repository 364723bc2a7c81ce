"""Makes the detecting-insults-in-social-commentary task: the competition's own split, whose labels were released."""

from pathlib import Path

from assay.data import files, frames
from assay.errors import SourceError

COLUMNS = ["Insult", "Date", "Comment"]


def prepare(raw: Path, public: Path, private: Path, edition: str) -> None:
    """A row's id is its comment; the files with labels pass through as they are, byte for byte."""
    train, test = frames.read(raw / "train.csv"), frames.read(raw / "test_with_solutions.csv")
    frames.check_columns(train, COLUMNS, "train.csv")
    frames.check_columns(test, [*COLUMNS, "Usage"], "test_with_solutions.csv")
    if train["Comment"].isin(test["Comment"]).any():
        raise SourceError("a comment of test_with_solutions.csv is in train.csv as well")
    files.copy([
        (raw / "train.csv", public / "train.csv"),
        (raw / "test_with_solutions.csv", private / "test.csv"),
    ])  # fmt: skip
    gold = test.drop(columns="Usage")
    frames.write(gold, private / "gold_submission.csv")
    frames.write(gold.drop(columns="Insult"), public / "test.csv")
    frames.write(gold.assign(Insult=0), public / "sample_submission_null.csv")
