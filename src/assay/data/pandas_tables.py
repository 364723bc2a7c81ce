"""Tables as pandas reads and writes them, so that prepared files have the published benchmark's bytes.

Values are parsed and printed again: `0.10` becomes `0.1`, `NA` an empty field, a whole number in a column with gaps
gets a `.0`. The type of a column is decided on the whole raw file, before anything is split.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import pandas as pd

from assay.core.errors import SourceError
from assay.data import archives
from assay.data.splits import Split

Value = str | int | float | bool

# From version 3 on pandas always reads floats exactly, and warns where it is asked to.
EXACT_FLOATS: Any = {"float_precision": "round_trip"} if int(pd.__version__.partition(".")[0]) < 3 else {}


def read(source: Path | IO[bytes], **options: Any) -> pd.DataFrame:
    """Read a CSV file as pandas does by default, with exact floats."""
    return cast(pd.DataFrame, pd.read_csv(source, **EXACT_FLOATS, **options))


def check_columns(frame: pd.DataFrame, columns: Sequence[str], name: str) -> None:
    """Raise `SourceError` unless a table of the raw data has exactly these columns in this order."""
    if list(frame.columns) != list(columns):
        found, wanted = (", ".join(map(str, names)) for names in (frame.columns, columns))
        raise SourceError(f"{name} has the columns {found}; they should be {wanted}")


def write(frame: pd.DataFrame, path: Path, **options: Any) -> None:
    """Write a CSV file as pandas does by default, without row numbers, and make its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    frame.to_csv(path, index=False, **options)


def write_zipped(frame: pd.DataFrame, archive: Path, **options: Any) -> None:
    """Write a CSV file into a zip file of its own, called as the zip file without `.zip`."""
    archives.pack(archive, [(archive.stem, frame.to_csv(index=False, **options).encode())])


def split(frame: pd.DataFrame, rows: Split) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The training and the test rows, each in the order in which the split names them."""
    train, test = (frame.take(side).reset_index(drop=True) for side in rows)
    return train, test


def sample(frame: pd.DataFrame, id: str | Sequence[str], values: Mapping[str, Value]) -> pd.DataFrame:
    """A sample submission: the ids of the frame's rows, and in every further column a constant."""
    return _constants(frame, [id] if isinstance(id, str) else id, values)


def one_hot(
    frame: pd.DataFrame, id: str, column: str, classes: Sequence[str], *, append_unlisted: bool = False
) -> pd.DataFrame:
    """The id, and for each class a column that is 1 where the row is of that class and 0 elsewhere.

    A class that is not listed is a fault of the data: its rows would belong to no class at all. Where such classes are
    to be appended, as some published preparations do, each gets a last column that is 1.0 in its rows and else empty.
    """
    indicators = {name: (frame[column] == name).astype(int) for name in classes}
    unlisted = [name for name in frame[column].unique() if name not in indicators]
    if unlisted and not append_unlisted:
        raise ValueError(f"column {column} holds classes that are not listed: {unlisted[:3]}")
    appended = {name: (frame[column] == name).astype(float).replace(0, np.nan) for name in unlisted}
    return pd.DataFrame({id: frame[id], **indicators, **appended})


def write_csv_split(
    train: pd.DataFrame,
    test: pd.DataFrame,
    *,
    public: Path,
    private: Path,
    id: str,
    sample: Mapping[str, Value],
    whole_sample: bool = False,
    targets: Sequence[str] | None = None,
    train_name: str = "train.csv",
    test_name: str | None = "test.csv",
    answers_name: str = "test.csv",
    sample_name: str = "sample_submission.csv",
) -> None:
    """Write the files most competitions have.

    Public are the training rows, the test rows without `targets` (the columns of `sample` if not given; not written
    without a name) and a sample submission of constants; private are the test rows with all their columns. A whole
    sample submission has all columns of the test rows, in their order; otherwise it has the id and its constants alone.
    """
    write(train, public / train_name)
    write(test, private / answers_name)
    if test_name is not None:
        write(test.drop(columns=list(sample if targets is None else targets)), public / test_name)
    write(test.assign(**sample) if whole_sample else _constants(test, [id], sample), public / sample_name)


def _constants(frame: pd.DataFrame, ids: Sequence[str], values: Mapping[str, Value]) -> pd.DataFrame:
    return pd.DataFrame({**{name: frame[name] for name in ids}, **values}, index=frame.index)
