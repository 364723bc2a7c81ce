"""What agents see of a task's data: its files, and the first rows of its tables."""

import csv
import os
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from assay.core.errors import AssayError, RecordError
from assay.core.home import Home
from assay.core.untrusted import open_plain
from assay.data.publish import File
from assay.data.store import load_prepared
from assay.tasks import Task

_MAX_TABLES = 4
_MAX_ROWS = 5
_MAX_COLUMNS = 12
_MAX_GROUPS = 40
_READ = 256 * 1024
_MAX_FILE = 2**50
_TABLES = {".csv": ",", ".tsv": "\t"}


@dataclass(frozen=True)
class FileGroup:
    """A file at the top of the data, or all files with the same ending below a folder there."""

    name: str
    files: int
    size: int


@dataclass(frozen=True)
class TablePreview:
    """The first rows of a table."""

    name: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    more_columns: int


@dataclass(frozen=True)
class DataPreview:
    """The public files of a task; `problem` says why they are not known."""

    files: int = 0
    size: int = 0
    groups: tuple[FileGroup, ...] = ()
    tables: tuple[TablePreview, ...] = ()
    problem: str | None = None


def preview_data(task: Task, edition: str, variant: str) -> DataPreview:
    """Return what agents see of the data of a task, if it is prepared on this machine."""
    try:
        prepared = load_prepared(Home.default(), task, edition, variant)
    except (AssayError, OSError) as error:
        return DataPreview(problem=str(error))
    public = prepared.manifest.public
    tables = [name for name in sorted(public, key=_importance) if Path(name).suffix.lower() in _TABLES]
    previews = [_preview_table(prepared.public, name) for name in tables[:_MAX_TABLES]]
    return DataPreview(
        files=sum(_count(file) for file in public.values()),
        size=sum(file.size for file in public.values()),
        groups=_group(public),
        tables=tuple(table for table in previews if table),
    )


def _importance(name: str) -> tuple[int, bool, str]:
    """Order names by depth, those of training data first."""
    return name.count("/"), "train" not in name.lower(), name


def _count(file: File) -> int:
    """Return how many files an entry of a manifest is about."""
    return 1 if file.files is None else file.files


def _group(public: Mapping[str, File]) -> tuple[FileGroup, ...]:
    groups: dict[str, list[File]] = {}
    for name, file in sorted(public.items()):
        top, slash, rest = name.partition("/")
        groups.setdefault(f"{top}/…{Path(rest).suffix}" if slash else name, []).append(file)
    first = list(groups.items())[:_MAX_GROUPS]
    return tuple(FileGroup(name, sum(map(_count, files)), sum(file.size for file in files)) for name, files in first)


def _preview_table(folder: Path, name: str) -> TablePreview | None:
    """Return the first rows of a table, which may be damaged; None if there is nothing to show."""
    try:
        with open_plain(folder / name, _MAX_FILE) as file:
            start = file.read(_READ)
            complete = os.fstat(file.fileno()).st_size <= _READ
    except (OSError, RecordError):
        return None
    lines = start.decode("utf-8-sig", errors="replace").splitlines()
    whole = lines if complete else lines[:-1]
    try:
        reader = csv.reader(whole, delimiter=_TABLES[Path(name).suffix.lower()])
        rows = list(islice(reader, _MAX_ROWS + 1))
    except csv.Error:
        return None
    if not rows:
        return None
    header, *body = (tuple(row[:_MAX_COLUMNS]) for row in rows)
    return TablePreview(name, header, tuple(body), max(len(rows[0]) - _MAX_COLUMNS, 0))
