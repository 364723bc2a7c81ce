"""Rows that are in train and in test: equal ones, near-equal texts, and rows that share most of their numbers.

Texts are compared by shingles, which are runs of words; numbers by their exact values, since measurements with many
digits hardly ever agree by chance. That also finds neighboring windows of one recording.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from assay.audit.finding import AuditFinding, Severity
from assay.audit.subject import Subject
from assay.core.untrusted import list_plain_files

ROWS, TEXTS, VALUES = "duplicate rows", "near-duplicate texts", "shared measurements"

MAX_TEXTS = 20_000
MAX_ROWS = 20_000
MAX_TESTED = 500
_SHINGLE = 4
_MIN_WORDS = 6
_MIN_CONTAINED = 0.8
_MIN_SHARED_VALUES = 0.5
_MIN_COLUMNS = 8
_MIN_FEATURES = 5
_MAX_REPEATS = 20
_MIN_SHARE = 0.01
_MIN_COUNT = 3
_WORD = re.compile(r"[^\W\d_]+")


def check_rows(subject: Subject) -> list[AuditFinding]:
    """Count the test rows that have an equal training row, ids and targets aside."""
    columns = subject.feature_columns()
    if subject.train is None or subject.test is None or not columns:
        return [AuditFinding(ROWS, "skipped", "there are no two tables with the same columns")]
    train, test = subject.train.table[columns], subject.test.table[columns]
    computed_on = f"{subject.train.name}, {subject.test.name}; {len(columns)} columns"
    varied = [name for name in columns if train[name].nunique() > max(20, 0.05 * len(train))]
    few = len(columns) < _MIN_FEATURES and not any(is_text(train[name]) for name in varied)
    if not varied or (few and float(train.duplicated().mean()) >= _MIN_SHARE):
        return [AuditFinding(ROWS, "skipped", "rows have few columns or values, so equal ones are expected")]
    hashes = [pd.util.hash_pandas_object(side, index=False).to_numpy() for side in (train, test)]
    both = np.isin(hashes[1], hashes[0])
    count, share = int(both.sum()), float(both.mean())
    text = f"{count:,} of {len(test):,} test rows ({share:.1%}) have an equal training row"
    if count < _MIN_COUNT or share < _MIN_SHARE / 10:
        return [AuditFinding(ROWS, "none", text, (), computed_on)]
    first = test[both].iloc[0]
    evidence = (f"for example: {' | '.join(str(value)[:60] for value in first[varied[:3]])}",)
    severity: Severity = "high" if share >= 10 * _MIN_SHARE else "medium"
    return [AuditFinding(ROWS, severity, text, evidence, computed_on)]


def check_texts(subject: Subject) -> list[AuditFinding]:
    """Count the test texts most of whose shingles are in one training text."""
    findings = []
    if subject.train is not None and subject.test is not None:
        for column in subject.feature_columns():
            train, test = subject.train.table[column], subject.test.table[column]
            if is_text(train) and is_text(test):
                findings.append(_compare_texts(column, train, test))
    if not findings:
        return [AuditFinding(TEXTS, "skipped", "train and test have no column of texts in common")]
    defects = [finding for finding in findings if finding.is_defect]
    return defects or findings[:1]


def check_values(subject: Subject) -> list[AuditFinding]:
    """Look for test rows that share most of their numbers with one training row, in tables and arrays."""
    findings = [
        _compare_values(name, train, test)
        for name, train, test in _number_pairs(subject)
        if train.shape[1] >= _MIN_COLUMNS and train.shape[1] == test.shape[1]
    ]
    if not findings:
        return [AuditFinding(VALUES, "skipped", f"there are no two tables of {_MIN_COLUMNS} or more measurements")]
    return [finding for finding in findings if finding.is_defect] or findings[:1]


def split_words(text: str) -> list[str]:
    """Return the words of a text in lower case, without numbers."""
    return _WORD.findall(text.lower())


def is_text(column: "pd.Series[Any]") -> bool:
    """Whether many cells of a column have several words."""
    lengths = column.head(1000).map(lambda cell: len(split_words(str(cell))))
    return bool(len(lengths)) and float((lengths >= _MIN_WORDS).mean()) >= 0.3


def _compare_texts(column: str, train: "pd.Series[Any]", test: "pd.Series[Any]") -> AuditFinding:
    index: dict[int, list[int]] = defaultdict(list)
    for row, text in enumerate(train.head(MAX_TEXTS)):
        for shingle in _shingles(str(text)):
            if len(index[shingle]) < _MAX_REPEATS:
                index[shingle].append(row)
    tested = matched = 0
    example = ""
    for text in test.head(MAX_TEXTS):
        shingles = _shingles(str(text))
        if len(shingles) < _MIN_WORDS - _SHINGLE + 1:
            continue
        tested += 1
        shared = Counter(row for shingle in shingles for row in index.get(shingle, ()))
        best = max(shared.items(), key=lambda item: item[1], default=(-1, 0))
        if best[1] >= _MIN_CONTAINED * len(shingles):
            matched += 1
            example = example or f"test {str(text)[:80]!r}, train {str(train.iloc[best[0]])[:80]!r}"
    share = matched / tested if tested else 0.0
    text = f"{matched:,} of {tested:,} test texts in {column} ({share:.1%}) are contained in a training text"
    sizes = [min(MAX_TEXTS, len(side)) for side in (train, test)]
    computed_on = f"runs of {_SHINGLE} words; the first {sizes[0]:,} training and {sizes[1]:,} test texts"
    if matched < _MIN_COUNT or share < _MIN_SHARE:
        return AuditFinding(TEXTS, "none", text, (), computed_on)
    return AuditFinding(TEXTS, "high" if share >= 0.1 else "medium", text, (example,), computed_on)


def _shingles(text: str) -> set[int]:
    words = split_words(text)[:2000]
    return {hash(tuple(words[at : at + _SHINGLE])) for at in range(len(words) - _SHINGLE + 1)}


def _number_pairs(subject: Subject) -> Iterator[tuple[str, NDArray[Any], NDArray[Any]]]:
    """Yield the measurements of train and test: columns with decimals of the tables, and arrays of the same name."""
    columns = subject.feature_columns()
    if subject.train is not None and subject.test is not None:
        sides = [side.table[columns].head(MAX_ROWS) for side in (subject.train, subject.test)]
        precise = [name for name in columns if sides[0][name].head(200).str.fullmatch(r"-?\d+\.\d{4,}.*").mean() > 0.5]
        if len(precise) >= _MIN_COLUMNS:
            numbers = [side[precise].apply(pd.to_numeric, errors="coerce").to_numpy(np.float64) for side in sides]
            yield f"{subject.train_file} and {subject.test_file}", numbers[0], numbers[1]
    for train in list_plain_files(subject.public):
        if "train" not in train.name or train.suffix != ".npy":
            continue
        test = train.with_name(train.name.replace("train", "test"))
        if test.is_file() and not test.is_symlink():
            arrays = [_open_array(path) for path in (train, test)]
            if all(array is not None and array.ndim == 2 and array.dtype.kind == "f" for array in arrays):
                first, second = (np.asarray(array[:MAX_ROWS]) for array in arrays if array is not None)
                yield f"{train.name} and {test.name}", first, second


def _open_array(path: Path) -> NDArray[Any] | None:
    try:
        return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except (ValueError, OSError):
        return None


def _compare_values(name: str, train: NDArray[Any], test: NDArray[Any]) -> AuditFinding:
    tested = test[np.linspace(0, len(test) - 1, min(MAX_TESTED, len(test))).astype(int)]
    values, codes = np.unique(train.ravel(), return_inverse=True)
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(len(values) + 1))
    matched = 0
    for row in tested:
        numbers = np.unique(row[np.isfinite(row)])
        positions = np.searchsorted(values, numbers)
        known = [at for at, number in zip(positions, numbers, strict=True) if at < len(values) and values[at] == number]
        rows: Counter[int] = Counter()
        for at in known:
            if starts[at + 1] - starts[at] <= _MAX_REPEATS:
                rows.update({int(cell) // train.shape[1] for cell in order[starts[at] : starts[at + 1]]})
        matched += max(rows.values(), default=0) >= max(_MIN_COLUMNS // 2, _MIN_SHARED_VALUES * len(numbers))
    share = matched / len(tested) if len(tested) else 0.0
    text = f"{matched:,} of {len(tested):,} test rows ({share:.1%}) share most of their numbers with a training row"
    computed_on = f"{name}: {len(tested):,} test rows spread over the file, the first {len(train):,} training rows"
    if matched < _MIN_COUNT or share < _MIN_SHARE:
        return AuditFinding(VALUES, "none", text, (), computed_on)
    return AuditFinding(VALUES, "high" if share >= 0.1 else "medium", text, (), computed_on)


def describe_examples(values: Sequence[str], limit: int = 3) -> str:
    """Name the first few of many values."""
    examples = ", ".join(str(value)[:40] for value in list(values)[:limit])
    return f"{examples}, …" if len(values) > limit else examples
