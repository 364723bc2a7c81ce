"""What is audited: the public files of a task, its answers, and samples of its tables, read once for all checks."""

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import pandas as pd

from assay.audit.answer_key import AnswerKey
from assay.audit.public_tables import PublicTable, find_tables
from assay.core.errors import UsageError
from assay.core.untrusted import list_plain_files
from assay.data.store import Prepared
from assay.tasks.model import is_miniature

MAX_ROWS = 100_000
MAX_CELLS = 3_000_000
_JOIN = "\x1f"
_MIN_SHARE = 0.5
_MAX_TABLES = 40
_TABLE_SUFFIXES = (".csv", ".tsv", ".csv.zip", ".tsv.zip", ".json", ".jsonl", ".parquet")


@dataclass(frozen=True)
class TableSample:
    """The rows of a table that were read, and how to call them in a report."""

    table: pd.DataFrame
    name: str


@dataclass(frozen=True)
class Subject:
    """The data to audit. Everything is text, as in the files; missing values are empty."""

    name: str
    public: Path
    train_file: str | None = None
    test_file: str | None = None
    ids: tuple[str, ...] = ()
    """The columns that together name a row."""
    table: pd.DataFrame = field(default_factory=pd.DataFrame)
    """The private answers with all their columns; empty where there are none."""
    labels: pd.DataFrame = field(default_factory=pd.DataFrame)
    """The true values, by the names of the submission's columns, in the order of `table`."""
    target: str | None = None
    key: AnswerKey | None = None
    raw: Path | None = None

    @classmethod
    def of_task(cls, prepared: Prepared) -> "Subject":
        """Return the subject of a prepared task whose submissions are tables."""
        key, data = AnswerKey(prepared), prepared.task.data
        raw = prepared.folder / "raw"
        return cls(
            prepared.task.id,
            prepared.public,
            data.train,
            data.test,
            tuple(key.id_columns),
            key.table,
            key.labels(),
            data.target,
            key,
            raw if raw.is_dir() else None,
        )

    @classmethod
    def of_folder(cls, folder: Path, target: str | None, id: str | None, answers: Path | None) -> "Subject":
        """Return the subject of a folder that no task describes; its tables are found by their names."""
        train, test = (_find_by_name(folder, side) for side in ("train", "test"))
        table = next(PublicTable(answers.name, answers).chunks(), pd.DataFrame()) if answers else pd.DataFrame()
        for column in (id, target):
            if answers and column and column not in table.columns:
                raise UsageError(f"{answers} has no column {column!r}")
        subject = cls(str(folder), folder, train, test, (id,) if id else (), table, target=target)
        if train is None and not any(folder.rglob("*")):
            raise UsageError(f"{folder} is empty")
        if target and train and subject.train is not None and target not in subject.train.table.columns:
            raise UsageError(f"{train} has no column {target!r}")
        labels = pd.DataFrame({target: table[target]}) if target and len(table) else pd.DataFrame()
        return cls(str(folder), folder, train, test, subject.ids if len(table) else (), table, labels, target)

    @property
    def prepared(self) -> Prepared | None:
        """The prepared task, unless a folder is audited."""
        return self.key.prepared if self.key else None

    @property
    def real(self) -> bool:
        """Whether this is real data and not a miniature."""
        return self.prepared is None or not is_miniature(self.prepared.variant)

    @cached_property
    def train(self) -> TableSample | None:
        """The training table, as far as it is read."""
        return read_sample(self.public, self.train_file) if self.train_file else None

    @cached_property
    def test(self) -> TableSample | None:
        """The public test table, as far as it is read."""
        return read_sample(self.public, self.test_file) if self.test_file else None

    @cached_property
    def row_ids(self) -> list[str]:
        """The id of each answer; the parts of a composite id are joined."""
        return join_ids(self.table, self.ids) if self.ids else []

    @cached_property
    def rows_of_id(self) -> dict[str, list[int]]:
        """The rows of the answers for the first part of their id, by which files are named."""
        rows: dict[str, list[int]] = {}
        if self.ids:
            for row, id in enumerate(self.table[self.ids[0]]):
                rows.setdefault(id, []).append(row)
        return rows

    @property
    def train_name(self) -> str:
        """The training rows that were read, for reports."""
        return self.train.name if self.train else "no training table"

    @cached_property
    def test_rows(self) -> TableSample | None:
        """The public test table with the columns that only the private answers have, except the true values."""
        hidden = {column for column in self.table.columns if column in {*self._target_columns}}
        private = self.table.drop(columns=list(hidden)) if len(self.table) else None
        if self.test is None:
            return TableSample(private, "the private answers") if private is not None and self.ids else None
        table = self.test.table
        if private is None or not self.ids or not {*self.ids} <= {*table.columns}:
            return self.test
        more = [column for column in private.columns if column not in table.columns]
        if not more:
            return self.test
        keyed = private.assign(**{_JOIN: self.row_ids}).drop_duplicates(_JOIN).set_index(_JOIN)[more]
        joined = keyed.reindex(join_ids(table, self.ids)).fillna("").reset_index(drop=True)
        return TableSample(pd.concat([table.reset_index(drop=True), joined], axis=1), self.test.name)

    @property
    def _target_columns(self) -> set[str]:
        names = {self.target} if self.target else set()
        return names | ({*self.key.targets.values(), *self.key.targets} if self.key else set())

    def feature_columns(self) -> list[str]:
        """The columns that both the training and the test table have, without ids and targets."""
        if self.train is None or self.test is None:
            return []
        test = {*self.test.table.columns} - {*self.ids} - self._target_columns
        return [name for name in self.train.table.columns if name in test]

    def train_labels(self) -> "pd.Series[str] | None":
        """The target of the training rows, if the task names its column."""
        if self.train is None or self.target is None or self.target not in self.train.table.columns:
            return None
        return self.train.table[self.target]

    def public_attributes(self) -> Iterator[tuple[str, list[str | None]]]:
        """Yield every column of a public table that can be joined to the test rows by id, in the order of the answers.

        Tables with a sample submission are excluded, and so are columns with a value of their own for each row.
        """
        if not self.ids:
            return
        row_of_id = {id: row for row, id in reversed(list(enumerate(self.row_ids)))}
        for number, public in enumerate(find_tables(self.public)):
            if number == _MAX_TABLES:
                return
            if "sample" in public.name.lower() and "submission" in public.name.lower():
                continue
            table = take_rows(public.chunks())
            for ids in _candidate_ids(table, self.ids):
                matches = pd.Series(ids).map(row_of_id)
                known = matches.notna()
                if matches[known].nunique() < _MIN_SHARE * len(row_of_id) or known.sum() > 2 * len(row_of_id):
                    continue
                rows = matches[known].astype(int).to_numpy()
                for column in table.columns:
                    values: list[str | None] = [None] * len(self.row_ids)
                    for row, value in zip(rows, table.loc[known.to_numpy(), column], strict=True):
                        values[row] = value
                    yield f"{public.name}, column {column}", values
                break


def read_sample(folder: Path, name: str) -> TableSample | None:
    """Read the first rows of a table, up to a number of rows and cells; None if it cannot be read as one."""
    path = folder / name
    if not path.is_file() or path.is_symlink():
        return None
    tables = [table for table in find_tables(path.parent) if table.path == path] if name.endswith(".json") else []
    public = tables[0] if tables else PublicTable(name, path)
    table = take_rows(public.chunks())
    if not len(table.columns):
        return None
    limit = max(1000, min(MAX_ROWS, MAX_CELLS // max(1, len(table.columns))))
    return TableSample(table, f"the first {len(table):,} rows of {name}" if len(table) >= limit else f"all of {name}")


def take_rows(chunks: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Return the first rows of a table that comes in chunks, up to `MAX_ROWS` rows and `MAX_CELLS` cells."""
    taken: list[pd.DataFrame] = []
    rows = 0
    for chunk in chunks:
        chunk = chunk.loc[:, ~chunk.columns.duplicated()]
        limit = max(1000, min(MAX_ROWS, MAX_CELLS // max(1, len(chunk.columns))))
        taken.append(chunk.iloc[: limit - rows])
        rows += len(taken[-1])
        if rows >= limit:
            break
    return pd.concat(taken, ignore_index=True).fillna("") if taken else pd.DataFrame()


def join_ids(table: pd.DataFrame, columns: Sequence[str]) -> list[str]:
    """Return the id of each row as one text."""
    joined = table[columns[0]].astype(str)
    for column in columns[1:]:
        joined = joined + _JOIN + table[column].astype(str)
    return joined.tolist()


def read_submission_text(content: bytes) -> pd.DataFrame:
    """Read the content of a submission as text."""
    return pd.read_csv(io.BytesIO(content), dtype=str, keep_default_na=False)


def _candidate_ids(table: pd.DataFrame, ids: Sequence[str]) -> Iterator[list[str]]:
    """Yield the columns that may hold ids, those with the right name first."""
    if {*ids} <= {*table.columns}:
        yield join_ids(table, ids)
    elif len(ids) == 1:
        for column in table.columns:
            yield table[column].tolist()


def _find_by_name(folder: Path, side: str) -> str | None:
    """Return the table whose name begins with the side's name, `train` or `test`."""
    names = sorted(path.relative_to(folder).as_posix() for path in list_plain_files(folder))
    tables = [name for name in names if name.endswith(_TABLE_SUFFIXES)]
    return next((name for name in tables if name.rpartition("/")[2].lower().startswith(side)), None)


def index_rows(ids: Iterable[str]) -> Mapping[str, int]:
    """Return the first row of each id."""
    rows: dict[str, int] = {}
    for row, id in enumerate(ids):
        rows.setdefault(id, row)
    return rows
