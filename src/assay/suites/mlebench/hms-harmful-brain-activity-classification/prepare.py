"""HMS harmful brain activity: spectrograms split at random, with the windows and EEGs that belong to them."""

from assay.data import files, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_groups

WINDOW = ["eeg_id", "eeg_sub_id", "eeg_label_offset_seconds"]
SPECTROGRAM_WINDOW = ["spectrogram_id", "spectrogram_sub_id", "spectrogram_label_offset_seconds"]
COLUMNS = [*WINDOW, *SPECTROGRAM_WINDOW, "label_id", "patient_id", "expert_consensus"]


def prepare(job: PrepareJob) -> None:
    """Split the windows by spectrogram; `fixed` shows which window of a recording each test row is about."""
    votes = job.columns
    windows = pandas_tables.read(job.raw / "train.csv")
    pandas_tables.check_columns(windows[sorted(windows.columns)], sorted([*COLUMNS, *votes]), "train.csv")
    train, test = pandas_tables.split(windows, random_groups(windows["spectrogram_id"], test=0.1, seed=0))
    columns = ["spectrogram_id", "eeg_id", "patient_id"]
    if job.edition == "fixed":
        columns += [*WINDOW[1:], *SPECTROGRAM_WINDOW[1:]]
    counted = test.copy()[votes]  # the copy decides the order in which pandas adds, and so the last digit
    shares = counted.div(counted.sum(axis=1), axis=0)
    pandas_tables.write(train, job.public / "train.csv")
    pandas_tables.write(test[columns], job.public / "test.csv")
    sample = pandas_tables.sample(test, "eeg_id", dict.fromkeys(votes, 1 / 6))
    pandas_tables.write(sample, job.public / "sample_submission.csv")
    pandas_tables.write(test, job.private / "test.csv")
    gold = shares.assign(eeg_id=test["eeg_id"])[["eeg_id", *votes]]
    pandas_tables.write(gold, job.private / "gold_submission.csv")
    for side, table in (("train", train), ("test", test)):
        for kind in ("eeg", "spectrogram"):
            source, target = job.raw / f"train_{kind}s", job.public / f"{side}_{kind}s"
            files.copy_by_id(source, target, table[f"{kind}_id"].unique(), ".parquet")
    files.copy_tree(job.raw / "example_figures", job.public / "example_figures")
