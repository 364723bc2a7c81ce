"""Makes the detecting-insults-in-social-commentary task: the competition's own split, whose labels were released."""

from pathlib import Path

from assay.data import files, frames


def prepare(raw: Path, public: Path, private: Path, edition: str) -> None:
    """A row's id is its comment; the files with labels pass through as they are, byte for byte."""
    solutions = raw / "test_with_solutions.csv"
    files.copy([(raw / "train.csv", public / "train.csv"), (solutions, private / "test.csv")])
    gold = frames.read(solutions).drop(columns="Usage")
    frames.write(gold, private / "gold_submission.csv")
    frames.write(gold.drop(columns="Insult"), public / "test.csv")
    frames.write(gold.assign(Insult=0), public / "sample_submission_null.csv")
