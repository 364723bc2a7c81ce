"""Makes the jigsaw-toxic-comment-classification-challenge task: the competition's own split, labels released later."""

from pathlib import Path

import pandas as pd

from assay.data import archives, frames

LABELS = ["toxic", "severe_toxic", "obscene", "threat", "insult", "identity_hate"]


def prepare(raw: Path, public: Path, private: Path, edition: str) -> None:
    """Test rows whose labels are -1 were never scored; they stay among the answers, and the metric leaves them out."""
    frames.write(table(raw, "train.csv"), public / "train.csv")
    frames.write(table(raw, "test.csv"), public / "test.csv")
    frames.write(table(raw, "test_labels.csv"), private / "test.csv")
    sample = table(raw, "sample_submission.csv").assign(**dict.fromkeys(LABELS, 0.5))
    frames.write(sample, public / "sample_submission.csv")


def table(raw: Path, name: str) -> pd.DataFrame:
    """A table that is alone in an archive of its own."""
    with archives.open_member(raw / f"{name}.zip", name) as file:
        return frames.read(file)
