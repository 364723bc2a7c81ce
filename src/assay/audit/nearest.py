"""A submission by copying: each test row gets the labels of the most similar training row.

Rows are compared by their numbers, categories and words; without a test table, by small gray copies of their images.
"""

import zlib
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from assay.audit.duplicates import is_text, split_words
from assay.audit.image_duplicates import hash_image
from assay.audit.subject import Subject
from assay.audit.test_files import list_files, match_rows

MAX_ROWS = 20_000
MAX_IMAGES = 3000
_MAX_FEATURES = 200
_BUCKETS = 256
"""Into how many columns words are hashed."""

Features = NDArray[np.float32]


def copy_nearest_labels(subject: Subject, perfect: pd.DataFrame, targets: list[str]) -> pd.DataFrame | None:
    """Return the answers with the labels of the nearest training rows; None where rows cannot be compared."""
    if subject.train is None or len(subject.ids) != 1 or not {*targets} <= {*subject.train.table.columns}:
        return None
    id, train = subject.ids[0], subject.train.table.head(MAX_ROWS)
    if subject.test is not None and subject.feature_columns() and id in subject.test.table.columns:
        test = subject.test.table.drop_duplicates(id).head(MAX_ROWS)
        columns = subject.feature_columns()[:_MAX_FEATURES]
        sides = [_to_features(side[columns], train[columns]) for side in (train, test)]
        test_ids = test[id].tolist()
    else:
        images = _read_images(subject, train)
        if images is None:
            return None
        rows, test_ids, *sides = images
        train = train.iloc[rows]
    if not {*perfect[id]} <= {*test_ids}:
        return None
    nearest = _find_nearest(sides[0], sides[1])
    labels = train[targets].iloc[nearest].set_index(pd.Index(test_ids)).reindex(perfect[id])
    return perfect.assign(**{name: labels[name].to_numpy() for name in targets})


def _to_features(side: pd.DataFrame, reference: pd.DataFrame) -> Features:
    """Return columns of mean 0 and deviation 1; categories become their frequency rank, texts hashed words."""
    columns: list[NDArray[Any]] = []
    for name in side.columns:
        known = pd.to_numeric(reference[name], errors="coerce")
        if known.notna().mean() > 0.5:
            values = pd.to_numeric(side[name], errors="coerce").fillna(known.median())
        elif is_text(reference[name]):
            columns += list(_hash_words(side[name]).T)
            continue
        else:
            ranks = {value: rank for rank, value in enumerate(reference[name].value_counts().index)}
            known, values = reference[name].map(ranks), side[name].map(ranks).fillna(len(ranks))
        spread = float(known.std()) or 1.0
        columns.append(((values - known.mean()) / spread).to_numpy(np.float32))
    return np.asarray(np.nan_to_num(np.column_stack(columns)), np.float32)


def _hash_words(texts: "pd.Series[Any]") -> Features:
    """Return how often the words of each text fall into each bucket; a text weighs as much as a few numbers."""
    counts = np.zeros((len(texts), _BUCKETS), np.float32)
    for row, text in enumerate(texts):
        for word in split_words(str(text))[:500]:
            counts[row, zlib.crc32(word.encode()) % _BUCKETS] += 1
    lengths = np.linalg.norm(counts, axis=1, keepdims=True)
    return np.asarray(3 * counts / np.maximum(lengths, 1), np.float32)


def _read_images(subject: Subject, train: pd.DataFrame) -> tuple[list[int], list[str], Features, Features] | None:
    """Return the training rows and the test ids that have an image, and their small gray copies."""
    name = (subject.prepared.task.data.id if subject.prepared else None) or subject.ids[0]
    if name not in train.columns:
        return None
    rows_of_id = {id: [row] for row, id in enumerate(train[name])}
    train_looks: dict[int, NDArray[Any]] = {}
    test_looks: dict[str, NDArray[Any]] = {}
    try:
        for file in list_files(subject.public, 2 * MAX_IMAGES):
            test_rows, train_rows = match_rows(file.name, subject.rows_of_id), match_rows(file.name, rows_of_id)
            if (test_rows or train_rows) and (hashed := hash_image(file.read())):
                if test_rows:
                    test_looks.setdefault(subject.table[subject.ids[0]].iloc[test_rows[0]], hashed[1])
                else:
                    train_looks.setdefault(train_rows[0], hashed[1])
    except ModuleNotFoundError:  # without Pillow, images cannot be compared
        return None
    if len(train_looks) < 2 or not test_looks:
        return None
    return list(train_looks), list(test_looks), np.stack([*train_looks.values()]), np.stack([*test_looks.values()])


def _find_nearest(train: Features, test: Features) -> NDArray[np.int64]:
    squares, nearest = (train**2).sum(axis=1), []
    for start in range(0, len(test), 256):
        nearest.append((squares - 2 * test[start : start + 256] @ train.T).argmin(axis=1))
    return np.concatenate(nearest)
