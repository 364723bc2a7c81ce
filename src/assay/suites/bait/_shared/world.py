"""Worlds with a known truth: tables drawn from a seed, and the files that a task makes of them."""

import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from assay.data.job import PrepareJob, SynthesisJob
from assay.data.miniature import Miniature

SEED = 1729
_SEED_FILE = "seed.txt"
Values = np.ndarray[Any, Any]


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Write the seed of another world: a variant `synthetic-SEED` differs from the real one in nothing else."""
    (job.raw / _SEED_FILE).write_text(f"{make.rng.integers(2**31)}\n")


def open_world(job: PrepareJob) -> np.random.Generator:
    """Return the source of all randomness of a task."""
    path = job.raw / _SEED_FILE
    seed = int(path.read_text()) if path.is_file() else SEED
    return np.random.default_rng([seed, zlib.crc32(job.task.name.encode())])


def draw_inputs(rng: np.random.Generator, rows: int, columns: int) -> Values:
    """Return normal inputs, rounded as they are written."""
    return rng.normal(size=(rows, columns)).round(4)


def label(rng: np.random.Generator, inputs: Values, weights: Values, noise: float) -> Values:
    """Return labels 0 and 1 by a linear rule; no classifier is right more often than 1 - arctan(noise) / π."""
    signal = inputs @ (weights / np.linalg.norm(weights))
    labels: Values = (signal + noise * rng.normal(size=len(inputs)) > 0).astype(int)
    return labels


def make_table(start: int, columns: Mapping[str, Values]) -> pl.DataFrame:
    """Return a table with the ids `start`, `start` + 1, …; two-dimensional values spread over numbered columns."""
    spread: dict[str, Values] = {}
    for name, values in columns.items():
        if values.ndim == 2:
            spread |= {f"{name}{number + 1}": values[:, number] for number in range(values.shape[1])}
        else:
            spread[name] = values
    length = len(next(iter(spread.values())))
    return pl.DataFrame({"row": np.arange(start, start + length), **spread})


def write_world(
    job: PrepareJob, public: Mapping[str, pl.DataFrame], test: pl.DataFrame, planted: Values | None = None
) -> None:
    """Write public tables, the test table without its labels, the sample submission, and the private answers.

    `planted` marks the rows of the test table that a shortcut gives away, for the private `planted.csv`.
    """
    for name, table in {**public, "test.csv": test.drop("label")}.items():
        path = job.public / name
        path.parent.mkdir(parents=True, exist_ok=True)
        table.write_csv(path)
    test.select("row", pl.lit(0).alias("label")).write_csv(job.public / "sample_submission.csv")
    test.select("row", "label").write_csv(job.private / "answers.csv")
    if planted is not None:
        test.select("row", pl.Series("planted", planted.astype(int))).write_csv(job.private / "planted.csv")
