"""Tables as pandas reads and writes them, so that prepared files have the published benchmark's bytes.

Values are parsed and printed again: `0.10` becomes `0.1`, `NA` an empty field, an integer in a column with gaps
gets a `.0`. The type of a column is inferred from the whole raw file, before anything is split.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, TypeVar, cast

import numpy as np
import pandas as pd

from assay.core.errors import MissingDependency, SourceError
from assay.data import archives, csv_rows
from assay.data.csv_rows import RowTable
from assay.data.pandas_floats import replace_floats
from assay.data.splits import Split

Value = str | int | float | bool
Table = pd.DataFrame | RowTable
T = TypeVar("T", pd.DataFrame, RowTable)

# From version 3.1 on pandas always parses floats exactly, and warns when asked to.
_VERSION = tuple(int(part) for part in pd.__version__.split(".")[:2])
EXACT_FLOATS: Any = {"float_precision": "round_trip"} if _VERSION < (3, 1) else {}


def read(source: Path | IO[bytes] | IO[str], **options: Any) -> pd.DataFrame:
    """Read a CSV file as pandas does by default, with exact floats."""
    return cast(pd.DataFrame, pd.read_csv(source, **EXACT_FLOATS, **options))


def scan(path: Path, scratch: Path, *, texts: Collection[str] = ()) -> RowTable:
    """Return what `read` does as a table that is split by moving rows as bytes, several times as fast.

    It has only the methods of a data frame that a split needs, and uses temporary files in `scratch`. Columns named in
    `texts` are text whatever they hold.
    """
    return csv_rows.scan(path, scratch, read, texts=texts)


def read_inexactly(path: Path, **options: Any) -> pd.DataFrame:
    """Read a CSV file as the few published preparations that do not ask for exact floats did with pandas 2.2."""
    return replace_floats(read(path, **options), path, **options)


def from_records(records: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return records as a table in which, as in pandas 2.2, a text that is None stays None; an absent one is NaN."""
    names = dict.fromkeys(name for record in records for name in record)
    columns = {name: [record.get(name, np.nan) for record in records] for name in names}
    return pd.DataFrame(
        {
            name: pd.Series(values, dtype=object if any(isinstance(value, str) for value in values) else None)
            for name, values in columns.items()
        }
    )


def read_zipped(archive: Path, name: str | None = None, **options: Any) -> pd.DataFrame:
    """Read a CSV file inside a zip file; by default it is named like the zip file without `.zip`."""
    with archives.open_member(archive, name or archive.stem) as file:
        return read(file, **options)


def read_parquet(path: Path, columns: Sequence[str] | None = None) -> pd.DataFrame:
    """Read a Parquet file, or only some columns of it, as pandas does with fastparquet.

    As in a CSV file, integers with gaps become floats.
    """
    file = _fastparquet().ParquetFile(str(path), pandas_nulls=False)
    return cast(pd.DataFrame, file.to_pandas(columns=None if columns is None else list(columns)))


def check_columns(frame: Table, columns: Sequence[str], name: str) -> None:
    """Raise `SourceError` unless a table of the raw data has exactly these columns in this order."""
    if list(frame.columns) != list(columns):
        present, expected = (", ".join(map(str, names)) for names in (frame.columns, columns))
        raise SourceError(f"{name} has the columns {present}; expected are {expected}")


def write(frame: Table, path: Path, **options: Any) -> None:
    """Write a CSV file as pandas does by default, without row numbers, and create its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    frame.to_csv(path, index=False, **options)


def write_zipped(frame: pd.DataFrame, archive: Path, **options: Any) -> None:
    """Write a CSV file into its own zip file; it is named like the zip file without `.zip`."""
    archives.pack(archive, [(archive.stem, frame.to_csv(index=False, **options).encode())])


def write_json_lines(frame: pd.DataFrame, path: Path, **options: Any) -> None:
    """Write one JSON object per row and line, as pandas does: no spaces, `/` escaped, floats with 10 decimals."""
    path.parent.mkdir(parents=True, exist_ok=True)
    frame.to_json(path, orient="records", lines=True, **options)


def write_parquet(frame: pd.DataFrame, path: Path, *, index: bool = False) -> None:
    """Write a Parquet file as pandas does with fastparquet, the published writer; by default without row labels.

    The footer names the versions of pandas and fastparquet, so the bytes are the same only where these are.
    """
    library = _fastparquet()
    path.parent.mkdir(parents=True, exist_ok=True)
    library.write(str(path), frame, compression="snappy", write_index=index)


def split(table: T, rows: Split) -> tuple[T, T]:
    """Return the training and the test rows, each in the order of the split."""
    train, test = (table.take(side).reset_index(drop=True) for side in rows)
    return train, test


def renumber(
    frame: pd.DataFrame, column: str, template: str = "{}", *, start: int = 0
) -> tuple[pd.DataFrame, list[tuple[Any, Any]]]:
    """Replace a column by new ids in the order of the rows, and return the (old, new) pairs too.

    The template formats a counter, as in `Train_{}` or `clip_{:08d}.wav`; with `{}` alone the new ids are numbers.
    """
    numbers = range(start, start + len(frame))
    new: list[Any] = list(numbers) if template == "{}" else [template.format(number) for number in numbers]
    pairs = list(zip(frame[column], new, strict=True))
    return frame.assign(**{column: new}), pairs


def sample(table: T, id: str | Sequence[str], values: Mapping[str, Value]) -> T:
    """Return a sample submission: the ids of the table's rows, and a constant in every further column."""
    return table[[id] if isinstance(id, str) else list(id)].assign(**values)


def one_hot(
    frame: pd.DataFrame, id: str, column: str, classes: Sequence[str], *, append_unlisted: bool = False
) -> pd.DataFrame:
    """Return the id, and for each class a column that is 1 in the rows of that class and 0 elsewhere.

    A class that is not listed is an error in the data: its rows would belong to no class at all. With
    `append_unlisted`, as some published preparations do, it gets a last column that is 1.0 in its rows and else empty.
    """
    indicators = {name: (frame[column] == name).astype(int) for name in classes}
    unlisted = [name for name in frame[column].unique() if name not in indicators]
    if unlisted and not append_unlisted:
        raise ValueError(f"column {column} holds classes that are not listed: {unlisted[:3]}")
    appended = {name: (frame[column] == name).astype(float).replace(0, np.nan) for name in unlisted}
    return pd.DataFrame({id: frame[id], **indicators, **appended})


def multi_hot(
    frame: pd.DataFrame, id: str, column: str, classes: Sequence[str], *, separator: str = " "
) -> pd.DataFrame:
    """Return the id, and for each class a column that is 1 where it is among the row's separated labels, else 0."""
    labels = [set(str(text).split(separator)) for text in frame[column]]
    indicators = {name: [int(name in row) for row in labels] for name in classes}
    return pd.DataFrame({id: frame[id].to_numpy(), **indicators})


def melt(
    frame: pd.DataFrame,
    id: str,
    columns: Sequence[str],
    *,
    template: str = "{id}_{column}",
    names: tuple[str, str] = ("id", "value"),
) -> pd.DataFrame:
    """Return a long table: for each row and column, an id made from both, and the value."""
    ids = [template.format(id=key, column=column) for key in frame[id] for column in columns]
    values = frame[list(columns)].to_numpy().ravel()
    return pd.DataFrame({names[0]: ids, names[1]: values})


def explode(
    frame: pd.DataFrame,
    id: str,
    columns: Sequence[str],
    *,
    length: str,
    template: str = "{id}_{position}",
    name: str = "id",
    fill: Value = 0,
    flag: str | None = None,
) -> pd.DataFrame:
    """Return a row for each position of the lists in `columns`, up to the length given in the column `length`.

    Positions behind the end of a list get `fill`; `flag` names a column that is True where the list has a value.
    """
    ids: list[str] = []
    values: dict[str, list[Any]] = {column: [] for column in columns}
    scored: list[bool] = []
    for _, row in frame.iterrows():
        count = int(row[length])
        ids += [template.format(id=row[id], position=position) for position in range(count)]
        present = min(len(row[columns[0]]), count)
        scored += [position < present for position in range(count)]
        for column in columns:
            values[column] += [*row[column][:present], *([fill] * (count - present))]
    flags = {} if flag is None else {flag: scored}
    return pd.DataFrame({name: ids, **values, **flags})


def first_per_key(frame: pd.DataFrame, key: str | Sequence[str]) -> pd.DataFrame:
    """Return one row per key of one column or several, sorted by it: the first value of each column that has one."""
    keys = [key] if isinstance(key, str) else list(key)
    return frame.groupby(keys, as_index=False).first()


def write_csv_split(
    train: Table,
    test: Table,
    *,
    public: Path,
    private: Path,
    id: str,
    sample: Mapping[str, Value],
    whole_sample: bool = False,
    targets: Iterable[str] | None = None,
    train_name: str = "train.csv",
    test_name: str | None = "test.csv",
    answers_name: str = "test.csv",
    sample_name: str = "sample_submission.csv",
) -> None:
    """Write the files most competitions have.

    Public are the training rows, the test rows without `targets` (by default the columns of `sample`; not written if
    `test_name` is None) and a sample submission of constants; private are the test rows with all columns. The sample
    submission has the id and its constants, or with `whole_sample` all columns of the test rows in their order.
    """
    write(train, public / train_name)
    write(test, private / answers_name)
    if test_name is not None:
        write(test.drop(columns=list(sample if targets is None else targets)), public / test_name)
    rows = test if whole_sample else test[[id]]
    write(rows.assign(**sample), public / sample_name)


def _fastparquet() -> Any:
    try:
        import fastparquet
    except ModuleNotFoundError:
        raise MissingDependency("reading and writing Parquet files", "mlebench") from None
    return fastparquet
