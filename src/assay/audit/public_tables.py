"""The tables among a task's public files, as text: CSV and TSV (plain or zipped), JSON, JSON lines, Parquet.

They are read chunk by chunk, so memory stays bounded however large the files are. A table is read up to `MAX_ROWS`
rows and `MAX_COLUMNS` columns, and a JSON document, which cannot be read in parts, up to `MAX_JSON` bytes; what is not
read is reported.
"""

import json
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd

from assay.core.errors import RecordError
from assay.core.untrusted import MAX_LOG, list_plain_files, open_plain, parse_json, read_json

MAX_ROWS = 5_000_000
MAX_COLUMNS = 2_000
MAX_JSON = 200 * 10**6
CHUNK_CELLS = 1_000_000
_SEPARATORS = {".csv": ",", ".tsv": "\t"}
_NOT_A_TABLE = (pd.errors.ParserError, pd.errors.EmptyDataError, RecordError, zipfile.BadZipFile, ValueError)


@dataclass
class PublicTable:
    """A table that is read chunk by chunk; `cut` says afterwards what was not read, if anything."""

    name: str
    path: Path
    key: str | None = None
    """Where the rows are in a JSON document that holds several lists."""
    lines: bool = False
    """Whether a JSON file holds one record per line."""
    cut: str | None = field(default=None, init=False)

    def chunks(self, max_rows: int = MAX_ROWS, chunk_cells: int = CHUNK_CELLS) -> Iterator[pd.DataFrame]:
        """Yield the rows as text, missing values as empty text, as far as the file can be read as a table."""
        rows = 0
        if self._is_document() and self.path.stat().st_size > MAX_JSON:
            self.cut = f"nothing of {self.name}, which is over {MAX_JSON // 10**6:,} MB of JSON"
            return
        try:
            for chunk in self._all_chunks(chunk_cells):
                if len(chunk.columns) == MAX_COLUMNS:
                    self.cut = f"the first {MAX_COLUMNS:,} columns of {self.name}"
                yield chunk.iloc[: max_rows - rows]
                rows += len(chunk)
                if rows >= max_rows:
                    self.cut = f"the first {max_rows:,} rows of {self.name}"
                    return
        except _NOT_A_TABLE:
            return

    def _all_chunks(self, cells: int) -> Iterator[pd.DataFrame]:
        suffix = _data_suffix(self.path)
        if suffix in _SEPARATORS:
            return _read_delimited(self.path, _SEPARATORS[suffix], cells)
        if suffix == ".parquet":
            return _read_parquet(self.path, cells)
        if not self._is_document():
            return _read_json_lines(self.path)
        return _read_json(self.path, self.key)

    def _is_document(self) -> bool:
        return _data_suffix(self.path) == ".json" and not self.lines


def find_tables(public: Path) -> Iterator[PublicTable]:
    """Yield every public table in the order of its path; a JSON document may hold several."""
    for path in list_plain_files(public):
        relative = path.relative_to(public).as_posix()
        suffix = _data_suffix(path)
        if suffix == ".json":
            yield from _find_in_json(path, relative)
        elif suffix in (*_SEPARATORS, ".parquet", ".jsonl", ".ndjson"):
            yield PublicTable(relative, path)


def read_columns(path: Path, columns: list[str]) -> Iterator[pd.DataFrame]:
    """Yield chunks of some columns of one table; KeyError where one is missing."""
    for chunk in PublicTable(path.name, path).chunks():
        yield chunk[columns]


def _data_suffix(path: Path) -> str:
    """The suffix that gives the format, with a zip around it disregarded for delimited text."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if len(suffixes) > 1 and suffixes[-1] == ".zip" and suffixes[-2] in _SEPARATORS:
        return suffixes[-2]
    return suffixes[-1] if suffixes else ""


def _read_delimited(path: Path, separator: str, cells: int) -> Iterator[pd.DataFrame]:
    options: dict[str, Any] = {"sep": separator, "dtype": str, "keep_default_na": False}
    # As a row, because an empty table of many columns takes long to make.
    width = len(pd.read_csv(path, nrows=1, header=None, **options).columns)
    # The last column is often the target.
    columns = [*range(width)] if width <= MAX_COLUMNS else [*range(MAX_COLUMNS - 1), width - 1]
    rows = max(1000, cells // max(len(columns), 1))
    with pd.read_csv(path, chunksize=rows, usecols=columns, **options) as reader:
        yield from reader


def _read_parquet(path: Path, cells: int) -> Iterator[pd.DataFrame]:
    import polars as pl

    lazy = pl.scan_parquet(path)
    schema = lazy.collect_schema()
    flat = [name for name, kind in schema.items() if not kind.is_nested() and kind not in (pl.Binary, pl.Object)]
    flat = flat[:MAX_COLUMNS]
    rows = max(1000, cells // max(len(flat), 1))
    for start in range(0, lazy.select(pl.len()).collect().item(), rows):
        chunk = lazy.select(flat).slice(start, rows).collect()
        text = chunk.select(pl.all().cast(pl.String).fill_null(""))
        yield pd.DataFrame({name: text[name].to_list() for name in flat}, dtype=object)


def _read_json_lines(path: Path) -> Iterator[pd.DataFrame]:
    with open_plain(path, MAX_LOG) as file:
        lines = iter(lambda: file.readline(MAX_JSON), b"")
        records = (parse_json(line, path, strict=False) for line in lines if line.strip())
        while batch := list(islice(records, 10_000)):
            yield _to_frame(batch)


def _read_json(path: Path, key: str | None) -> Iterator[pd.DataFrame]:
    document = read_json(path, MAX_JSON, strict=False)
    yield _to_frame(document if key is None else document[key])


def _find_in_json(path: Path, name: str) -> Iterator[PublicTable]:
    """A list of records, an object with such lists, or one record per line."""
    if _has_json_lines(path):
        yield PublicTable(name, path, lines=True)
        return
    if path.stat().st_size > MAX_JSON:
        yield PublicTable(name, path)
        return
    try:
        document = read_json(path, MAX_JSON, strict=False)
    except RecordError:
        return
    if isinstance(document, list):
        yield PublicTable(name, path)
    elif isinstance(document, dict):
        for key, value in document.items():
            if isinstance(value, list) and value and isinstance(value[0], dict):
                yield PublicTable(f"{name}, {key}", path, key)


def _has_json_lines(path: Path) -> bool:
    with path.open("rb") as file:
        first, second = file.readline(10**6), file.readline(10**6)
    try:
        return bool(second.strip()) and isinstance(json.loads(first), dict)
    except (ValueError, RecursionError):
        return False


def _to_frame(records: Iterable[Any]) -> pd.DataFrame:
    objects = [row for row in records if isinstance(row, dict)]
    columns = list(islice(dict.fromkeys(key for row in objects for key in row), MAX_COLUMNS))
    return pd.DataFrame({key: [_to_text(row.get(key)) for row in objects] for key in columns}, dtype=object)


def _to_text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)
