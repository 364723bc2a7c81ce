"""Whether the properties of test files reveal their labels: inode, time, size, links, name, position in an archive.

For each property, the test files are ranked by it, and the ranking is compared with the labels: by the area under the
ROC curve for each class, by rank correlation for numbers. An association that chance would almost never produce is a
leak.
"""

import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from assay.core.untrusted import list_plain_files

PROPERTIES = ("inode", "time", "size", "number of links", "name", "folder", "suffix", "position in the archive")

_COMPRESSED = (".jpg", ".jpeg", ".png", ".webp", ".gif", ".mp3", ".ogg", ".flac", ".gz")
"""Formats in which the size of a file follows from its content, which a model sees anyway."""
_MIN_FILES = 10
_MAX_CLASSES = 200
_MAX_DEVIATIONS = 4.5
"""Standard deviations from chance that are tolerated: exceeded by chance once in 150,000 comparisons."""

Facts = dict[str, float | str]


@dataclass(frozen=True)
class FileLeak:
    """A property of files that is associated with a label, and how many standard deviations that is from chance."""

    property: str
    label: str
    deviations: float


def find_leaks(public: Path, rows: Mapping[str, int], labels: Mapping[str, NDArray[Any]]) -> tuple[int, list[FileLeak]]:
    """Return how many test rows have a file of their own, and the properties of these files that reveal a label.

    `rows` gives the row of an id, or of the path of a file; `labels` the true values of all rows by column.
    """
    facts_of_row: dict[int, Facts] = {}
    for name, facts in _describe_files(public):
        row = next((rows[spelling] for spelling in spellings(name) if spelling in rows), None)
        if row is not None:
            facts_of_row.setdefault(row, {}).update(facts)
    with_file = sorted(facts_of_row)
    if len(with_file) < _MIN_FILES:
        return len(with_file), []
    leaks = []
    for property_ in PROPERTIES:
        values = [facts_of_row[row].get(property_) for row in with_file]
        if any(value is None for value in values) or len(set(values)) == 1:
            continue
        if property_ == "size" and all(f".{facts_of_row[row]['suffix']}".lower() in _COMPRESSED for row in with_file):
            continue
        ranks = rank(np.unique(np.array(values), return_inverse=True)[1])
        for column, column_labels in labels.items():
            label, deviations = strongest_association(ranks, column_labels[with_file])
            if deviations > _MAX_DEVIATIONS:
                leaks.append(FileLeak(property_, f"{column} {label}".strip(), deviations))
    return len(with_file), leaks


def _describe_files(public: Path) -> Iterator[tuple[str, Facts]]:
    """Yield every public file, and every member of a public zip archive, with its visible properties."""
    for path in list_plain_files(public):
        stat = path.stat()
        relative = path.relative_to(public).as_posix()
        yield (
            relative,
            {
                "inode": stat.st_ino,
                "time": stat.st_mtime_ns,
                "size": stat.st_size,
                "number of links": stat.st_nlink,
                **_parts_of_name(relative),
            },
        )
        if path.suffix == ".zip":
            yield from _describe_members(path)


def _describe_members(path: Path) -> Iterator[tuple[str, Facts]]:
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            yield (
                info.filename,
                {
                    "time": float(np.dot(info.date_time, 60.0 ** np.arange(5, -1, -1))),
                    "size": info.file_size,
                    "position in the archive": info.header_offset,
                    **_parts_of_name(info.filename),
                },
            )


def _parts_of_name(name: str) -> Facts:
    return {"name": name, "folder": name.rpartition("/")[0], "suffix": name.rpartition(".")[2]}


def spellings(name: str) -> Iterator[str]:
    """Yield the ids that a file may belong to: its path, its name with and without suffix, its folder's name."""
    yield name
    base = name.rpartition("/")[2]
    yield base
    yield base.rpartition(".")[0]
    yield name.rpartition("/")[0].rpartition("/")[2]


def strongest_association(ranks: NDArray[Any], labels: NDArray[Any]) -> tuple[str, float]:
    """Return the label whose rows stand out most in a ranking, in standard deviations from chance."""
    classes = np.unique(labels)
    is_number = classes.dtype.kind in "fiu"
    if len(classes) > _MAX_CLASSES or (classes.dtype.kind == "f" and len(classes) > 20):
        if not is_number:
            return "", 0.0
        correlation = np.corrcoef(ranks, rank(labels))[0, 1]
        return "", float(abs(correlation) * np.sqrt(len(labels) - 1))
    if len(classes) < 2:
        return "", 0.0
    deviations = [(str(label), _rank_sum_deviation(ranks, labels == label)) for label in classes]
    return max(deviations, key=lambda pair: pair[1])


def _rank_sum_deviation(ranks: NDArray[Any], positive: NDArray[np.bool_]) -> float:
    """Return how far the positive rows' rank sum is from its mean, in standard deviations (Mann-Whitney)."""
    total, positives = len(ranks), int(positive.sum())
    spread = np.sqrt(positives * (total - positives) / (total - 1)) * np.std(ranks)
    return float(abs(ranks[positive].sum() - positives * ranks.mean()) / spread) if spread else 0.0


def rank(values: NDArray[Any]) -> NDArray[Any]:
    """Return ranks from 1, with the mean rank for ties."""
    return np.asarray(pd.Series(values).rank())
