"""Whether one attribute of the test rows gives their label away: a column of a table, or a field of a file.

A strong feature is not a leak. Reported is what is rare in features: a value, or the presence of a value, that comes
with one label only, in more rows than chance allows; numbers that separate classes without an overlap; numbers that
follow a numeric target exactly.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from assay.audit.file_leaks import rank, strongest_association
from assay.audit.finding import AuditFinding
from assay.audit.subject import Subject
from assay.audit.task_check import parse_numbers

CHECK = "single predictors"

_MIN_ROWS = 20
_MAX_TARGETS = 30
_MIN_GROUP = 10
_MAX_CHANCE = 1e-8
_MAX_CLASSES = 50
_MIN_AUC = 0.999
_MIN_CORRELATION = 0.999


@dataclass(frozen=True)
class Link:
    """An attribute that gives a label away, and how."""

    attribute: str
    target: str
    text: str


def check_predictors(subject: Subject) -> list[AuditFinding]:
    """Compare every public column that can be joined to the test rows with the answers."""
    computed_on = f"{len(subject.table):,} answers and the public tables that name their rows"
    if not len(subject.labels):
        return [AuditFinding(CHECK, "skipped", "there are no answers to compare with")]
    links, attributes = [], 0
    labels = combine_labels(subject.labels)
    for name, values in subject.public_attributes():
        attributes += 1
        links += find_links(name, *_with_training_rows(subject, name, values, labels))
    if not links:
        return [AuditFinding(CHECK, "none", f"{attributes:,} columns, none gives a label away", (), computed_on)]
    text = f"{links[0].attribute} gives {links[0].target} away"
    return [AuditFinding(CHECK, "high", text, tuple(link.text for link in links[:5]), computed_on)]


def combine_labels(labels: pd.DataFrame) -> pd.DataFrame:
    """Return many columns of the same few values, such as one per class, as one column."""
    if len(labels.columns) <= _MAX_TARGETS:
        return labels
    return pd.DataFrame({f"{len(labels.columns)} labels": labels.astype(str).agg(" ".join, axis=1)})


def _with_training_rows(
    subject: Subject, name: str, values: list[str | None], labels: pd.DataFrame
) -> tuple[list[str | None], pd.DataFrame]:
    """Add the training rows, if the training table has the same column and the target: a leak is in both."""
    column, target = name.rpartition("column ")[2], subject.train_labels()
    if subject.train is None or target is None or len(labels.columns) != 1 or column not in subject.train.table.columns:
        return values, labels
    if not name.startswith(f"{subject.test_file},"):
        return values, labels
    true = [*labels.iloc[:, 0], *target]
    unified = pd.Series(true, dtype=object).replace({"true": "1", "false": "0", "True": "1", "False": "0"})
    return [*values, *subject.train.table[column]], pd.DataFrame({labels.columns[0]: unified})


def find_links(attribute: str, values: Sequence[str | None], labels: pd.DataFrame) -> list[Link]:
    """Return how an attribute of the test rows gives their labels away, for each target for which it does."""
    rows = np.array([row for row, value in enumerate(values) if value is not None], dtype=int)
    if len(rows) < _MIN_ROWS:
        return []
    present = pd.Series([values[row] for row in rows], dtype=object)
    if present.nunique() < 2:
        return []
    links = []
    for target in labels.columns:
        truth = parse_numbers(labels[target])[rows]
        if text := _describe_link(present, truth):
            links.append(Link(attribute, str(target), f"{attribute}: {text} ({target})"))
    return links


def _describe_link(values: "pd.Series[Any]", truth: NDArray[Any]) -> str | None:
    codes, classes = pd.factorize(pd.Series(truth).astype(str))
    if len(classes) < 2:
        return None
    if len(classes) <= _MAX_CLASSES:
        if text := _find_pure_value(values, codes, classes):
            return text
        numbers = pd.to_numeric(values, errors="coerce").to_numpy(float)
        if len(classes) == 2 and np.isfinite(numbers).all():
            return _separates(numbers, codes)
        return None
    numbers = pd.to_numeric(values, errors="coerce").to_numpy(float)
    if truth.dtype.kind not in "fiu" or not np.isfinite(numbers).all() or len(set(numbers)) < 2:
        return None
    correlation = float(np.corrcoef(rank(numbers), rank(truth))[0, 1])
    return f"rank correlation {correlation:.4f}" if abs(correlation) >= _MIN_CORRELATION else None


def _separates(numbers: NDArray[Any], codes: NDArray[Any]) -> str | None:
    positives, total = int(codes.sum()), len(codes)
    if min(positives, total - positives) < _MIN_GROUP:
        return None
    area = (rank(numbers)[codes == 1].sum() - positives * (positives + 1) / 2) / (positives * (total - positives))
    area = max(area, 1 - area)
    return f"area under the ROC curve {area:.4f}" if area >= _MIN_AUC else None


def _find_pure_value(values: "pd.Series[Any]", codes: NDArray[Any], classes: Iterable[Any]) -> str | None:
    """Describe a value that comes with one label only, or the fact that some value is given."""
    names, shares = list(classes), np.bincount(codes) / len(codes)
    counts = values.value_counts()
    frequent = [value for value, count in counts.items() if count >= _MIN_GROUP][:_MAX_CLASSES]
    groups = [(f"{str(value)[:40]!r}", (values == value).to_numpy()) for value in frequent]
    groups.append((f"anything but {str(counts.index[0])[:40]!r}", (values != counts.index[0]).to_numpy()))
    best = None
    for name, group in groups:
        if _MIN_GROUP <= group.sum() < len(codes) and len(set(codes[group])) == 1:
            label = codes[group][0]
            chance = float(shares[label]) ** int(group.sum()) * len(groups)
            if chance < _MAX_CHANCE and (best is None or group.sum() > best[0]):
                best = (int(group.sum()), f"{name} always has the label {names[label]}, {int(group.sum())} times")
    return best[1] if best else None


def associated(values: Sequence[str | None], labels: pd.DataFrame) -> tuple[str, float]:
    """Return the label that an attribute is most associated with, in standard deviations from chance."""
    rows = np.array([row for row, value in enumerate(values) if value is not None], dtype=int)
    if len(rows) < _MIN_ROWS:
        return "", 0.0
    present = pd.Series([values[row] for row in rows], dtype=object)
    numbers = pd.to_numeric(present, errors="coerce")
    codes = numbers.to_numpy(float) if numbers.notna().all() else np.unique(present, return_inverse=True)[1]
    if len(set(codes)) < 2:
        return "", 0.0
    associations = []
    for target in labels.columns:
        label, deviations = strongest_association(rank(codes), parse_numbers(labels[target])[rows])
        associations.append((f"{target} {label}".strip(), deviations))
    return max(associations, key=lambda pair: pair[1], default=("", 0.0))
