"""What a user makes a task from: a table, a folder of images or texts, a data frame, or a competition's archive.

All of them become a table, every value as text, and the files that one of its columns names.
"""

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from assay.core.errors import SourceError, UsageError
from assay.core.progress import Progress
from assay.core.text import did_you_mean, quote
from assay.core.untrusted import list_plain_files
from assay.data import untrusted_zip
from assay.data.own_tables import SUFFIXES, read_csv, read_table
from assay.data.raw_data import refuse_links_within

IMAGES = (".bmp", ".gif", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp")
TEXTS = (".md", ".txt")
LABEL = "label"
SIDES = frozenset({"train", "training", "test", "testing", "val", "valid", "validation", "dev"})
"""Folders with these names are parts of a split, not classes."""
_MAX_TEXT = 1_000_000


@dataclass(frozen=True)
class OwnData:
    """A table, the files that its column `files` names, and what a sample submission says about the task."""

    table: pl.DataFrame
    about: str
    content: Path | bytes
    """The table's file, or its content."""
    suffix: str = ".csv"
    files: str | None = None
    folder: Path | None = None
    """Where the files are that the column `files` names."""
    target: str | None = None
    metric: str | None = None
    id: str | None = None
    drop: Mapping[str, str] = field(default_factory=dict)
    """Column -> why it is excluded."""


def read_own_data(source: Any, labels: Path | None = None) -> OwnData:
    """Read a table or folder by its path, or a pandas or polars data frame."""
    if hasattr(source, "write_csv") or hasattr(source, "to_csv"):
        try:
            content = source.write_csv() if hasattr(source, "write_csv") else source.to_csv(index=False)
        except pl.exceptions.ComputeError as error:
            raise UsageError(f"the data frame cannot be a table: {error}") from None
        return OwnData(_check(read_csv(content.encode())), "A data frame.", content.encode())
    if not isinstance(source, (str, os.PathLike)):
        raise UsageError(
            f"a {type(source).__name__} is neither a path nor a data frame of pandas or polars; make one of it first"
        )
    path = Path(source)
    if not path.exists():
        raise UsageError(f"{path} does not exist")
    if path.is_dir():
        refuse_links_within(path)
        return _read_labeled_files(path, labels) if labels else _read_classes(path)
    if not path.is_file():
        raise UsageError(f"{path} is neither a folder nor a regular file")
    if path.suffix.lower() not in SUFFIXES:
        hint = "; for a competition's archive, pass it with --raw" if path.suffix == ".zip" else ""
        raise UsageError(f"{path} is neither a folder nor one of {', '.join(SUFFIXES)}{hint}")
    return OwnData(_check(read_table(path)), f"{path.name}.", path, path.suffix.lower())


@contextmanager
def read_archive(path: Path, progress: Progress, target: str | None = None) -> Iterator[OwnData]:
    """Read the archive of a competition, or a folder with the same files: train, test and a sample submission.

    Only the labeled part is used: the training table, without the columns that the test table lacks. Target, metric and
    id are guessed from the sample submission, unless `target` is named. The archive is extracted for as long as the
    context is open.
    """
    if not path.exists():
        raise UsageError(f"{path} does not exist")
    with tempfile.TemporaryDirectory(prefix="assay-new-") as scratch:
        folder = path
        if path.is_file():
            folder = Path(scratch) / "archive"
            untrusted_zip.extract(path, folder, progress=progress)
        refuse_links_within(folder)
        for number, inner in enumerate(sorted(folder.rglob("*.zip"))):
            if inner.is_relative_to(scratch):
                untrusted_zip.extract(inner, inner.parent / f"{number}-{inner.stem}", progress=progress)
        yield _guess(folder, path.name, target)


def _guess(folder: Path, name: str, named: str | None) -> OwnData:
    tables = [path for path in list_plain_files(folder) if path.suffix.lower() in SUFFIXES]

    def find(word: str) -> Path | None:
        return next(
            (path for path in sorted(tables, key=lambda path: len(path.stem)) if word in path.stem.lower()), None
        )

    train_path, test_path, sample_path = find("train"), find("test"), find("sample") or find("submission")
    if train_path is None or sample_path is None:
        missing = "training table (train.csv)" if train_path is None else "sample submission (sample_submission.csv)"
        raise UsageError(f"{name} has no {missing}; pass the table itself with --from, and name its --target")
    sample, train = read_table(sample_path), _check(read_table(train_path))
    id, *columns = sample.columns
    data = OwnData(train, f"The labeled part of {name}.", train_path, train_path.suffix.lower())
    data = replace(data, id=id if id in train.columns else None)
    targets = [column for column in columns if column in train.columns]
    if not targets and len(columns) > 1:
        classes = set(columns)
        targets = [column for column in train.columns if classes >= set(train[column].drop_nulls())]
        data = replace(data, metric="log_loss")
    if named is not None:
        targets = [find_column(train, named, "--target")]
    if len(targets) != 1:
        problem = f"asks for {', '.join(targets)}" if targets else f"asks for {', '.join(columns)[:80]}"
        raise UsageError(
            f"{sample_path.name} {problem}, which is not one column of {train_path.name}; name it with --target"
        )
    (target,) = targets
    if data.metric is None and train[target].n_unique() == 2 and any("." in (v or "") for v in sample[target]):
        data = replace(data, metric="roc_auc")  # a sample of fractions asks for probabilities
    if test_path is not None:
        known = set(read_table(test_path).columns)
        drop = {column: "not in the test table" for column in train.columns if column not in {*known, target, id}}
        data = replace(data, drop=drop)
    data = replace(data, target=target)
    column, root = _find_files(train, folder)
    if column is None or root is None:
        return data
    return _with_files(replace(data, id=None if column == data.id else data.id), column, root)


def _read_classes(folder: Path) -> OwnData:
    """Read a folder with a subfolder for each class, or with such folders for each part of a split."""
    files = [path for path in list_plain_files(folder) if path.suffix.lower() in (*IMAGES, *TEXTS)]
    parents = [path.relative_to(folder).parts[:-1] for path in files]
    if all(parts[0].lower() in SIDES for parts in parents if parts):
        parents = [parts[1:] for parts in parents]
    labeled = [(path, parts[0]) for path, parts in zip(files, parents, strict=True) if parts]
    if len({label for _, label in labeled}) < 2:
        raise UsageError(
            f"{folder} has no subfolders of images or texts for two classes; name the table of labels: --labels FILE"
        )
    names = [path.relative_to(folder).as_posix() for path, _ in labeled]
    table = pl.DataFrame({"file": names, LABEL: [label for _, label in labeled]})
    return _from_files(table, "file", folder, f"The folder {folder.name}, a subfolder for each class.")


def _read_labeled_files(folder: Path, labels: Path) -> OwnData:
    """Read a folder of files and a table that names them."""
    table = _check(read_table(labels))
    column, root = _find_files(table, folder)
    if column is None or root is None:
        raise UsageError(f"no column of {labels} names images or texts in {folder}, with or without their suffixes")
    return _with_files(OwnData(table, f"The folder {folder.name}, labeled by {labels.name}.", labels), column, root)


def _find_files(table: pl.DataFrame, folder: Path) -> tuple[str | None, Path | None]:
    """Return the column that names images or texts below a folder, and the folder that the names are relative to."""
    known = _list_by_name(folder)
    for column in table.columns:
        first = table[column].drop_nulls().head(20).to_list()
        if first and all(name in known for name in first):
            return column, folder
    return None, None


def _list_by_name(folder: Path) -> dict[str, str]:
    """Return the images and texts of a folder: path, name or name without suffix -> path; training files go first."""
    paths = [path for path in list_plain_files(folder) if path.suffix.lower() in (*IMAGES, *TEXTS)]
    known: dict[str, str] = {}
    for path in sorted(paths, key=lambda path: "test" in path.relative_to(folder).as_posix().lower()):
        relative = path.relative_to(folder).as_posix()
        for name in (relative, path.name, path.stem):
            known.setdefault(name, relative)
    return known


def _with_files(data: OwnData, column: str, folder: Path) -> OwnData:
    """Return the data with the full paths of files in a column."""
    known = _list_by_name(folder)
    if absent := [name for name in data.table[column] if name not in known]:
        raise SourceError(f"{quote(absent[0])} in column {column} is no image or text in {folder}")
    table = data.table.with_columns(pl.Series(column, [known[name] for name in data.table[column]]))
    return replace(_from_files(table, column, folder, data.about), target=data.target, metric=data.metric,
                   id=data.id, drop=data.drop)  # fmt: skip


def _from_files(table: pl.DataFrame, column: str, folder: Path, about: str) -> OwnData:
    suffixes = {Path(name).suffix.lower() for name in table[column]}
    if suffixes <= set(TEXTS):
        texts = [_read_text(folder / name) for name in table[column]]
        table = table.drop(column).select(pl.Series("text", texts), pl.all())
        return OwnData(_check(table), about, table.write_csv().encode())
    if not suffixes <= set(IMAGES):
        raise UsageError(f"{folder} mixes images and texts; make a task of one of them")
    return OwnData(_check(table), about, table.write_csv().encode(), files=column, folder=folder)


def _read_text(path: Path) -> str:
    content = path.read_bytes()
    if len(content) > _MAX_TEXT:
        raise SourceError(f"{path} has {len(content):,} bytes; texts may have {_MAX_TEXT:,}")
    try:
        return content.decode().strip()
    except UnicodeDecodeError:
        raise SourceError(f"{path} is not UTF-8 text") from None


def _check(table: pl.DataFrame) -> pl.DataFrame:
    if not table.width or any(not name.strip() or not name.isprintable() for name in table.columns):
        raise UsageError("the table needs a first line with the names of all columns")
    if any("\ufffd" in name for name in table.columns):
        raise UsageError("the names of the columns are not UTF-8 text; save the table as UTF-8")
    if table.width == 1 and ";" in table.columns[0]:
        raise UsageError(f"the table has the one column {quote(table.columns[0])}; separate columns by commas")
    return table


def find_column(table: pl.DataFrame, name: str, option: str) -> str:
    """Return the name of a column; raise `UsageError` if the table does not have it."""
    if name not in table.columns:
        raise UsageError(f"{option}: the data has no column {name!r}; {did_you_mean(name, table.columns)}")
    return name


def name_all(names: Sequence[str]) -> str:
    """Return names in code style, in a sentence."""
    return ", ".join(f"`{name}`" for name in names)
