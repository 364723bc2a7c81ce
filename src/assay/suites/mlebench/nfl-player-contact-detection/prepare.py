"""Player contact detection: whole plays are split, with their labels, tables and videos."""

import pandas as pd

from assay.data import files, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_groups

TABLES = ["baseline_helmets", "player_tracking", "video_metadata"]
VIEWS = ["All29", "Endzone", "Sideline"]


def prepare(job: PrepareJob) -> None:
    """Use a random tenth of the plays as the test set; rows keep the order of the raw tables."""
    labels = pandas_tables.read_inexactly(job.raw / "train_labels.csv")
    train, test = pandas_tables.split(labels, random_groups(labels["game_play"].tolist(), test=0.1, seed=0))
    sides = {side: rows["game_play"].unique() for side, rows in (("train", train), ("test", test))}
    for table in TABLES:
        frame = pandas_tables.read_inexactly(job.raw / f"train_{table}.csv")
        for side, plays in sides.items():
            _write_plays(job, f"{side}_{table}.csv", frame, plays.tolist())
    for side, plays in sides.items():
        names = [f"{play}_{view}.mp4" for play in plays for view in VIEWS]
        files.copy((job.raw / "train" / name, job.public / side / name) for name in names)
    pandas_tables.write(train, job.public / "train_labels.csv")
    pandas_tables.write(test, job.private / "test.csv")
    sample = pandas_tables.sample(test, "contact_id", {"contact": 0})
    pandas_tables.write(sample, job.public / "sample_submission.csv")


def _write_plays(job: PrepareJob, name: str, frame: pd.DataFrame, plays: list[str]) -> None:
    pandas_tables.write(frame[frame["game_play"].isin(plays)], job.public / name)
