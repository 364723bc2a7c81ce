"""Whether a public table holds the answers: a column that equals a target in all rows that a test id can be found for.

Any column of any table may hold the ids, under any name. A table is read once, chunk by chunk. Columns are compared by
the hashes of their cells, and a pair of columns is dropped at the first chunk in which they differ, so the cost is
little more than that of reading.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from assay.audit.public_tables import CHUNK_CELLS, MAX_ROWS, find_tables

_MIN_SHARE = 0.5
"""Which share of the test rows a table must name to be compared."""
_JOIN = "\x1f"

Cells = NDArray[np.object_]
Hashes = NDArray[np.uint64]


@dataclass(frozen=True)
class TableLeak:
    """A column of a public table that equals a target."""

    table: str
    column: str
    target: str


@dataclass(frozen=True)
class TableSearch:
    """What was found in the public tables: a leak, how many tables name test rows, and what was not read."""

    leak: TableLeak | None
    tables: int
    cut: tuple[str, ...]


def search_tables(
    public: Path,
    ids: pd.DataFrame,
    targets: pd.DataFrame,
    *,
    max_rows: int = MAX_ROWS,
    chunk_cells: int = CHUNK_CELLS,
) -> TableSearch:
    """Look for the targets in all public tables, up to the first leak.

    `ids` has the columns that together name a row of the answers, `targets` the true values, both as text. Where an id
    repeats, its n-th row in a table is compared with its n-th answer.
    """
    truth = _Truth.of(ids, targets)
    searched, cut = 0, []
    for table in find_tables(public):
        candidates: dict[str, _Candidate] = {}
        for chunk in table.chunks(max_rows, chunk_cells):
            columns = _HashedColumns(chunk)
            for name, cells in _id_columns(chunk, list(ids.columns)):
                candidate = candidates.setdefault(name, _Candidate(truth))
                if candidate.possible:
                    candidate.compare(cells, columns)
        if table.cut:
            cut.append(table.cut)
        named = [candidate for candidate in candidates.values() if candidate.rows >= _MIN_SHARE * truth.rows]
        searched += bool(named)
        for candidate in named:
            if pair := candidate.leaking_pair():
                return TableSearch(TableLeak(table.name, *pair), searched, tuple(cut))
    return TableSearch(None, searched, tuple(cut))


def _id_columns(chunk: pd.DataFrame, names: Sequence[str]) -> list[tuple[str, Cells]]:
    """The columns that may hold ids. Parts of a composite id are known by their names only."""
    if len(names) == 1:
        return [(name, _cells(chunk[name])) for name in chunk.columns if isinstance(chunk[name], pd.Series)]
    return [(_JOIN.join(names), _joined(chunk, names))] if {*names} <= {*chunk.columns} else []


@dataclass(frozen=True)
class _Truth:
    """The answers, found by id and occurrence."""

    index: pd.Index
    """The different ids."""
    keys: pd.Index
    """Id and occurrence as one number, for each answer."""
    repeats: int
    """How often the most frequent id occurs."""
    hashes: dict[str, Hashes]
    rows: int

    @classmethod
    def of(cls, ids: pd.DataFrame, targets: pd.DataFrame) -> "_Truth":
        codes, index = pd.factorize(_joined(ids, list(ids.columns)))
        occurrence = pd.Series(codes).groupby(codes).cumcount().to_numpy()
        repeats = int(occurrence.max(initial=0)) + 1
        hashes = {name: hash_cells(_cells(targets[name])) for name in targets.columns}
        varied = {name: values for name, values in hashes.items() if len(np.unique(values)) > 1}
        return cls(pd.Index(index, dtype=object), pd.Index(codes * repeats + occurrence), repeats, varied, len(ids))


@dataclass(frozen=True)
class _HashedColumns:
    """The hashed cells of a chunk's columns, each computed when it is first needed, once for all candidates."""

    chunk: pd.DataFrame
    hashes: dict[str, Hashes] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """The columns; a name that occurs twice does not say which is meant and is excluded."""
        return [name for name in self.chunk.columns if isinstance(self.chunk[name], pd.Series)]

    def hash(self, name: str) -> Hashes:
        """The hashes of a column's cells."""
        if name not in self.hashes:
            self.hashes[name] = hash_cells(_cells(self.chunk[name]))
        return self.hashes[name]


@dataclass
class _Candidate:
    """A column that may hold ids, and the pairs of other columns and targets that were equal so far."""

    truth: _Truth
    rows: int = 0
    pairs: dict[tuple[str, str], set[int]] | None = None
    """Equal pairs with some of the values seen, None before the first test row."""
    seen: NDArray[np.int64] | None = field(default=None, repr=False)
    """How often each id occurred in earlier chunks, where ids repeat."""

    @property
    def possible(self) -> bool:
        """Whether any pair is left, or none was compared yet."""
        return self.pairs is None or bool(self.pairs)

    def compare(self, ids: Cells, columns: _HashedColumns) -> None:
        """Drop the pairs that differ in this chunk."""
        answers = self._find_answers(ids)
        named = answers >= 0
        if not named.any():
            return
        self.rows += int(named.sum())
        true = {target: values[answers[named]] for target, values in self.truth.hashes.items()}
        if self.pairs is None:
            self.pairs = {pair: set() for pair in _equal_pairs(columns, named, true)}
        self.pairs = {
            (column, target): values | set(np.unique(true[target])[:2].tolist())
            for (column, target), values in self.pairs.items()
            if np.array_equal(columns.hash(column)[named], true[target])
        }

    def leaking_pair(self) -> tuple[str, str] | None:
        """A column and the target that it equals, unless that takes only one value in the rows compared."""
        return next((pair for pair, values in (self.pairs or {}).items() if len(values) > 1), None)

    def _find_answers(self, ids: Cells) -> NDArray[np.int64]:
        """The answer of each row, -1 where there is none."""
        codes = self.truth.index.get_indexer(pd.Index(ids, dtype=object)).astype(np.int64)
        if self.truth.repeats == 1:
            return codes  # different ids are numbered in the order of the answers
        if self.seen is None:
            self.seen = np.zeros(len(self.truth.index), np.int64)
        known = codes >= 0
        occurrence = pd.Series(codes).groupby(codes).cumcount().to_numpy() + np.where(known, self.seen[codes], 0)
        self.seen += np.bincount(codes[known], minlength=len(self.seen))
        within = known & (occurrence < self.truth.repeats)
        return np.where(within, self.truth.keys.get_indexer(pd.Index(codes * self.truth.repeats + occurrence)), -1)


def _equal_pairs(columns: _HashedColumns, rows: NDArray[np.bool_], true: dict[str, Hashes]) -> list[tuple[str, str]]:
    """All pairs of a column and a target with equal cells in these rows, found by the bytes of each whole column."""
    by_content: dict[bytes, list[str]] = {}
    for target, values in true.items():
        by_content.setdefault(values.tobytes(), []).append(target)
    return [
        (column, target)
        for column in columns.names
        for target in by_content.get(columns.hash(column)[rows].tobytes(), ())
    ]


def hash_cells(cells: Cells) -> Hashes:
    """Hash values so that one number written in two ways is equal: 1, 1.0 and true; 0.50 and 5e-1."""
    text = pd.Series(cells, dtype=object).str.strip().str.lower()
    numbers = pd.to_numeric(text.replace({"true": "1", "false": "0"}), errors="coerce").to_numpy(np.float64)
    hashes = pd.util.hash_array(text.to_numpy(object), categorize=True)
    number = np.isfinite(numbers)
    hashes[number] = pd.util.hash_array(numbers[number] + 0.0)  # which makes -0 equal to 0
    return hashes


def _cells(column: "pd.Series[str]") -> Cells:
    return column.to_numpy(object)


def _joined(table: pd.DataFrame, names: Sequence[str]) -> Cells:
    parts = [table[name].astype(object) for name in names]
    joined = parts[0]
    for part in parts[1:]:
        joined = joined + _JOIN + part
    return joined.to_numpy(object)
