"""Tables as text: values pass from raw to public exactly as they are written, never parsed and printed again."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import polars as pl

from assay.data.splits import Rows


def read(*paths: Path) -> pl.DataFrame:
    """Read one or more CSV files with the same columns, every value as text; empty fields are null."""
    return pl.concat([pl.read_csv(path, infer_schema=False) for path in paths])


def write(table: pl.DataFrame, path: Path) -> None:
    """Write a CSV file (comma, line feed, header, quotes only where needed), and create its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    table.write_csv(path)


def with_id(
    table: pl.DataFrame, name: str, values: Iterable[str | int], *, instead_of: str | None = None
) -> pl.DataFrame:
    """Return the table with a new first column of unique ids, and without the old one."""
    ids = pl.Series(name, list(values))
    if ids.n_unique() != table.height:
        raise ValueError(f"{table.height} rows need as many distinct ids; there are {ids.n_unique()}")
    return table.drop(instead_of or []).select(ids, pl.exclude(name))


def random_numbers(keys: Iterable[str], *, seed: int) -> dict[str, int]:
    """Return a new number for each distinct key, 1, 2, 3, …, sampled so that it is unrelated to the old one."""
    distinct = sorted(set(keys))
    numbers = np.random.RandomState(seed).permutation(len(distinct)) + 1
    return dict(zip(distinct, numbers.tolist(), strict=True))


def take(table: pl.DataFrame, rows: Rows) -> pl.DataFrame:
    """Return these rows, in this order."""
    return table.select(pl.all().gather(rows.tolist()))


def write_split(
    train: pl.DataFrame,
    test: pl.DataFrame,
    *,
    id: str,
    sample: Mapping[str, str | int | float | bool],
    public: Path,
    private: Path,
) -> None:
    """Write the files most tasks have: `train.csv`, `test.csv`, `sample_submission.csv`, and the private `answers.csv`.

    `sample` names the target columns and the constant that the sample submission has in each.
    """
    targets = list(sample)
    write(train, public / "train.csv")
    write(test.drop(targets), public / "test.csv")
    constants = (pl.lit(str(value)).alias(name) for name, value in sample.items())
    write(test.select(id, *constants), public / "sample_submission.csv")
    write(test.select(id, *targets), private / "answers.csv")
