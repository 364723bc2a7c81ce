"""Makes the enzyme substrate task: figures about molecules, and which classes of enzymes act on them."""

from pathlib import Path

from assay.data import frames
from assay.data.splits import random_rows


def prepare(raw: Path, public: Path, private: Path, edition: str) -> None:
    """A random tenth of the molecules is the test. Six classes are known of each; only the first two are asked for."""
    molecules = frames.read(raw / "train.csv")
    train, test = frames.split(molecules, random_rows(len(molecules), test=0.1, seed=0))
    frames.write_csv_split(
        train,
        test,
        id="id",
        sample={"EC1": 0.5, "EC2": 0.5},
        targets=["EC1", "EC2", "EC3", "EC4", "EC5", "EC6"],
        public=public,
        private=private,
    )
