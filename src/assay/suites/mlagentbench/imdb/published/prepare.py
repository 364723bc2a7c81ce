"""IMDb as published: the official halves, 25,000 reviews each, without the labels of the test half."""

from pathlib import Path

import numpy as np
import polars as pl

from assay.data.job import PrepareJob
from assay.data.polars_tables import write

from ..prepare import read_labelled

TEST_FILE = "test-00000-of-00001.parquet"


def prepare(job: PrepareJob) -> None:
    """Write both halves in their own order, which is by label; the published workspace downloads them with labels."""
    train = read_labelled(job.raw)
    test = pl.read_parquet(job.raw / TEST_FILE).cast(pl.String)
    write(train.select("text", "label"), job.public / "train.csv")
    write(test.select("text"), job.public / "test.csv")
    labels = test["label"].cast(pl.Int64).to_numpy()
    _write_probabilities(np.column_stack([labels == 0, labels == 1]).astype(np.int64), job.private / "answers.csv")
    _write_probabilities(np.full((len(labels), 2), 0.5), job.private / "sample_submission.csv")


def _write_probabilities(values: np.ndarray, path: Path) -> None:
    write(pl.DataFrame({"idx": np.arange(len(values)), "0": values[:, 0], "1": values[:, 1]}), path)
