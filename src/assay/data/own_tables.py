"""A user's own table as a task: read it as text, and split it so that no test row is known from training."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from assay.core.disk import hash_file
from assay.core.errors import SourceError
from assay.data import files
from assay.data.splits import Rows, Split

SUFFIXES = (".csv", ".tsv", ".parquet", ".jsonl")
MAX_EQUAL = 0.2
"""Above this share of rows that equal another one, equal rows are in the nature of the data and may be separated."""


def read_table(path: Path) -> pl.DataFrame:
    """Read a CSV, TSV, Parquet or JSON Lines file, every value as text; empty fields are null."""
    try:
        match path.suffix.lower():
            case ".csv":
                table = read_csv(path)
            case ".tsv":
                table = read_csv(path, separator="\t")
            case ".parquet":
                table = pl.read_parquet(path)
            case ".jsonl":
                table = pl.read_ndjson(path)
            case _:
                raise SourceError(f"{path.name} is no table; use one of {', '.join(SUFFIXES)}")
        return table.with_columns(pl.col(pl.String).replace("", None), pl.exclude(pl.String).cast(pl.String))
    except pl.exceptions.PolarsError as error:
        expected = {".csv": "UTF-8 text with commas", ".tsv": "UTF-8 text with tabs"}.get(path.suffix.lower())
        hint = f"; it must be {expected} between columns" if expected else ""
        raise SourceError(f"{path} cannot be read as a table: {str(error).splitlines()[0]}{hint}") from None


def read_csv(source: Path | bytes, separator: str = ",") -> pl.DataFrame:
    """Read a CSV file, every value as text; polars leaves doubled quotes in names of columns."""
    table = pl.read_csv(source, infer_schema=False, separator=separator)
    return table.rename({name: name.replace('""', '"') for name in table.columns if '""' in name})


def split_rows(
    table: pl.DataFrame, target: str, *, test: float, seed: int, group: str | None = None, time: str | None = None
) -> Split:
    """Split rows into shuffled training and test rows.

    Rows of a `group` are on one side, and so are rows that are equal in all columns but the target. With `time`, the
    test rows are the latest: rows of the same time are on one side, and test rows that equal a training row are
    excluded.
    """
    random = np.random.RandomState(seed)
    equal = _number_rows(table, [name for name in table.columns if name not in (target, group, time)])
    if time is not None:
        split = _split_by_time(parse_times(table[time]), test)
        if _keeps_equal_rows(equal):
            split = Split(split.train, split.test[~np.isin(equal[split.test], equal[split.train])])
    else:
        keys = [_number_rows(table, [group])] if group else []
        keys += [equal] if _keeps_equal_rows(equal) else []
        split = _fill_test(_join(keys, table.height), test, random)
    return Split(random.permutation(split.train), random.permutation(split.test))


def parse_times(column: pl.Series) -> pl.Series:
    """Return times as numbers in the same order: numbers as they are, dates in ticks; null for anything else."""
    numbers = column.cast(pl.Float64, strict=False)
    if numbers.null_count() == column.null_count():
        return numbers
    import pandas as pd

    dates = pd.to_datetime(pd.Series(column.to_list()), errors="coerce", format="ISO8601", utc=True)
    ticks = np.where(dates.isna(), np.nan, dates.dt.tz_convert(None).to_numpy().astype(np.int64))
    return pl.Series(ticks, nan_to_null=True)


def hash_contents(table: pl.DataFrame, column: str, folder: Path) -> pl.DataFrame:
    """Return the table with the hashes of files in place of their names, so that equal files are equal rows."""
    return table.with_columns(pl.Series(column, [hash_file(folder / name) for name in table[column]]))


def rename_files(table: pl.DataFrame, column: str, source: Path, public: Path, side: str) -> pl.DataFrame:
    """Copy the files that a column names to `SIDE/NUMBER.suffix`, in the order of the rows; return the new names.

    They are in the first column, `image`, in place of the old one.
    """
    digits = len(str(table.height))
    names = [f"{side}/{row:0{digits}d}{Path(name).suffix.lower()}" for row, name in enumerate(table[column])]
    files.copy((source / old, public / new) for old, new in zip(table[column], names, strict=True))
    return table.drop(column).select(pl.Series("image", names), pl.all())


def one_hot(table: pl.DataFrame, target: str, classes: Sequence[str]) -> pl.DataFrame:
    """Return the table with a column for each class, 1 where the row is of it, in place of the target."""
    columns = ((pl.col(target) == name).cast(pl.Int8).alias(name) for name in classes)
    return table.with_columns(*columns).drop([target] if target not in classes else [])


def _number_rows(table: pl.DataFrame, columns: Sequence[str]) -> Rows:
    """Number the distinct values of these columns taken together, in the order of their first appearance."""
    if not columns:
        return np.arange(table.height)
    rows = table.select(pl.struct(pl.col(list(columns)).fill_null("\0")).rank("dense"))
    return rows.to_series().to_numpy().astype(np.intp)


def _keeps_equal_rows(numbers: Rows) -> bool:
    return 1 - len(np.unique(numbers)) / len(numbers) <= MAX_EQUAL


def _join(keys: Sequence[Rows], height: int) -> Rows:
    """Return a number for each row, equal for rows that are linked by any of the keys."""
    parent = list(range(height))

    def find(row: int) -> int:
        while parent[row] != row:
            parent[row] = parent[parent[row]]
            row = parent[row]
        return row

    for numbers in keys:
        first: dict[int, int] = {}
        for row, number in enumerate(numbers.tolist()):
            parent[find(row)] = find(first.setdefault(number, row))
    return np.array([find(row) for row in range(height)], dtype=np.intp)


def _fill_test(groups: Rows, test: float, random: np.random.RandomState) -> Split:
    """Move random groups to the test side until it has its share of the rows."""
    names, sizes = np.unique(groups, return_counts=True)
    order = random.permutation(len(names))
    total = np.cumsum(sizes[order])
    chosen = names[order[: max(1, int(np.searchsorted(total, test * len(groups), side="right")))]]
    is_test = np.isin(groups, chosen)
    return Split(np.flatnonzero(~is_test), np.flatnonzero(is_test))


def _split_by_time(times: pl.Series, test: float) -> Split:
    values = times.to_numpy()
    cut = np.quantile(values, 1 - test, method="higher")
    is_test = values >= cut if (values < cut).any() else values > cut
    return Split(np.flatnonzero(~is_test), np.flatnonzero(is_test))
