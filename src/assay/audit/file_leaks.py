"""Whether what surrounds a test file gives its label away: inode, time, size, number of names, or the name itself.

For every such property the test files are put into its order, and the order is compared with the labels: by the area
under the ROC curve for each class, by rank correlation for numbers. What a fair coin would do almost never is a leak.
"""

import os
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

PROPERTIES = ("inode", "time", "size", "number of names", "name", "folder", "ending", "place in the archive")

_MOST_CLASSES = 200
_DEVIATIONS = 4.5
"""How many standard deviations from chance are too many: by chance once in 150,000 looks."""


@dataclass(frozen=True)
class Leak:
    """A property that goes with the label, and how far from chance."""

    property: str
    label: str
    strength: float


def find_leaks(public: Path, rows_of: Mapping[str, int], labels: Mapping[str, NDArray[Any]]) -> tuple[int, list[Leak]]:
    """How many test rows have a file of their own, and what gives the label of such a file away.

    `rows_of` says which row is meant by an id, or by the path of its file.
    """
    found: dict[int, dict[str, float | str]] = {}
    for name, facts in _files(public):
        row = next((rows_of[spelling] for spelling in _spellings(name) if spelling in rows_of), None)
        if row is not None:
            found.setdefault(row, {}).update(facts)
    rows = sorted(found)
    if len(rows) < 10:
        return len(rows), []
    leaks = []
    for property_ in PROPERTIES:
        values = [found[row].get(property_) for row in rows]
        if any(value is None for value in values) or len(set(values)) == 1:
            continue
        order = rankdata(np.unique(np.array(values), return_inverse=True)[1])
        for column, column_labels in labels.items():
            label, strength = _strongest(order, column_labels[rows])
            if strength > _DEVIATIONS:
                leaks.append(Leak(property_, f"{column} {label}".strip(), strength))
    return len(rows), leaks


def _files(public: Path) -> Iterator[tuple[str, dict[str, float | str]]]:
    """Every public file, and every file in a public zip file, with what can be seen of it from outside."""
    for folder, _, names in os.walk(public):
        for name in names:
            path = Path(folder, name)
            facts = path.stat()
            place = path.relative_to(public).as_posix()
            yield place, {
                "inode": facts.st_ino, "time": facts.st_mtime_ns, "size": facts.st_size,
                "number of names": facts.st_nlink, **_named(place),
            }  # fmt: skip
            if path.suffix == ".zip":
                with zipfile.ZipFile(path) as archive:
                    for info in archive.infolist():
                        yield info.filename, {
                            "time": float(np.dot(info.date_time, 60.0 ** np.arange(5, -1, -1))),
                            "size": info.file_size, "place in the archive": info.header_offset, **_named(info.filename),
                        }  # fmt: skip


def _named(name: str) -> dict[str, float | str]:
    return {"name": name, "folder": name.rpartition("/")[0], "ending": name.rpartition(".")[2]}


def _spellings(name: str) -> Iterator[str]:
    """What a row could be called whose file is here: its path, its name with and without ending, or its folder's."""
    yield name
    base = name.rpartition("/")[2]
    yield base
    yield base.rpartition(".")[0]
    yield name.rpartition("/")[0].rpartition("/")[2]


def _strongest(order: NDArray[Any], labels: NDArray[Any]) -> tuple[str, float]:
    """The label whose rows stand out most in an order, in standard deviations from chance."""
    classes = np.unique(labels)
    if len(classes) > _MOST_CLASSES or (classes.dtype.kind == "f" and len(classes) > 20):
        if classes.dtype.kind not in "fiu":
            return "", 0.0
        correlation = np.corrcoef(order, rankdata(labels))[0, 1]
        return "", float(abs(correlation) * np.sqrt(len(labels) - 1))
    deviations = [(str(one), _deviation(order, labels == one)) for one in classes]
    return max(deviations, key=lambda pair: pair[1]) if len(classes) > 1 else ("", 0.0)


def _deviation(order: NDArray[Any], positive: NDArray[np.bool_]) -> float:
    """How far the rank sum of the positive rows is from its mean, in standard deviations (Mann and Whitney)."""
    many, few = len(order), int(positive.sum())
    spread = np.sqrt(few * (many - few) / (many - 1)) * np.std(order)
    return float(abs(order[positive].sum() - few * order.mean()) / spread) if spread else 0.0
