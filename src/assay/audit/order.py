"""Whether order and time give labels away: ids that follow them, sorted rows, test rows among the training times."""

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from assay.audit.file_leaks import rank, strongest_association
from assay.audit.finding import AuditFinding
from assay.audit.groups import names_group
from assay.audit.subject import Subject
from assay.audit.task_check import parse_numbers

ORDER, TIME = "order of ids and rows", "timestamps"

_MIN_ROWS = 20
_MAX_DEVIATIONS = 4.5
_MIN_PARSED = 0.95
_DATE_WORDS = re.compile(r"(^|_|\b)(date|time|datetime|timestamp|created|posted|pickup|unix)", re.IGNORECASE)
_ISO_DATE = r"\d{4}-\d\d-\d\d($|[ T])"
_DATED_NAME = re.compile(r"(19|20)\d{2}[-_]?(0\d|1[0-2])[-_]?([0-2]\d|3[01])")


def check_order(subject: Subject) -> list[AuditFinding]:
    """Compare the labels with the order of the ids and with the position of each row in the public files."""
    if not len(subject.labels) or len(subject.rows_of_id) < _MIN_ROWS:
        return [AuditFinding(ORDER, "skipped", f"there are no {_MIN_ROWS} answers with ids")]
    chosen = _independent_rows(subject)
    if len(chosen) < _MIN_ROWS:
        return [AuditFinding(ORDER, "skipped", f"the answers belong to fewer than {_MIN_ROWS} groups")]
    computed_on = f"{len(chosen):,} answers, one for each id or first part of it"
    findings, tried = [], []
    for name, positions in _orders(subject):
        tried.append(name)
        associations = [
            (f"{target} {label}".strip(), deviations)
            for target in subject.labels.columns
            for label, deviations in [
                strongest_association(rank(positions[chosen]), parse_numbers(subject.labels[target])[chosen])
            ]
        ]
        label, deviations = max(associations, key=lambda pair: pair[1])
        if deviations > _MAX_DEVIATIONS:
            text = f"{name} is associated with {label}: {deviations:.1f} standard deviations from chance"
            findings.append(AuditFinding(ORDER, "medium", text, (), computed_on))
    text = f"no label follows {' or '.join(tried)}"
    return findings or [AuditFinding(ORDER, "none", text, (), computed_on)]


def _independent_rows(subject: Subject) -> list[int]:
    """Return a row of each group, else of each first part of ids such as 0139_03, else of each id."""
    first = {id: rows[0] for id, rows in subject.rows_of_id.items()}
    by_part: dict[str, int] = {}
    groups = _find_groups(subject)
    if groups:
        for id, row in first.items():
            by_part.setdefault(groups.get(id, id), row)
        return list(by_part.values())
    for id, row in first.items():
        by_part.setdefault(re.split(r"[_\-/]", id)[0], row)
    return list(by_part.values() if len(by_part) >= _MIN_ROWS else first.values())


def _find_groups(subject: Subject) -> dict[str, str]:
    """Return the group of each id, by the first column of the test table that names groups of several rows."""
    if subject.test is None or not subject.ids or subject.ids[0] not in subject.test.table.columns:
        return {}
    table = subject.test.table
    for column in table.columns:
        if column not in subject.ids and names_group(column) and table[column].nunique() < 0.5 * len(table):
            return dict(zip(table[subject.ids[0]], table[column], strict=True))
    return {}


def check_times(subject: Subject) -> list[AuditFinding]:
    """Report columns of times, and dated ids, whose test rows lie among the training rows."""
    train_rows, test_rows = subject.train, subject.test_rows
    computed_on = f"{subject.train_name}, {test_rows.name if test_rows else 'no test table'}"
    findings, columns = [], 0
    for column in train_rows.table.columns if train_rows and test_rows else ():
        if not train_rows or not test_rows or column not in test_rows.table:
            continue
        if not _DATE_WORDS.search(str(column)) and not train_rows.table[column].head(100).str.match(_ISO_DATE).all():
            continue
        train, test = (_parse_times(side.table[column]) for side in (train_rows, test_rows))
        if train is None or test is None or len({*train}) < _MIN_ROWS:
            continue
        columns += 1
        inside = float(((test >= train.min()) & (test <= train.max())).mean())
        if inside > 0.5:
            text = f"{inside:.0%} of the test rows lie within the training times by {column}"
            evidence = ("a model can learn from what came later",)
            findings.append(AuditFinding(TIME, "low", text, evidence, computed_on))
    dated = [id for id in list(subject.rows_of_id)[:1000] if _DATED_NAME.search(id)]
    if len(dated) > 0.9 * min(1000, max(1, len(subject.rows_of_id))):
        text = "the ids of the test rows hold a date"
        findings.append(AuditFinding(TIME, "low", text, (f"for example: {dated[0]}",), computed_on))
    text = f"{columns} columns of times; the test comes after train" if columns else "no column holds times"
    return findings or [AuditFinding(TIME, "none" if columns else "skipped", text, (), computed_on)]


def _orders(subject: Subject) -> Iterator[tuple[str, NDArray[Any]]]:
    first = subject.table[subject.ids[0]]
    numbers = pd.to_numeric(first, errors="coerce")
    keys = numbers if numbers.notna().all() else first
    yield "the order of the ids", np.unique(keys.to_numpy(), return_inverse=True)[1]
    if subject.test is not None and {*subject.ids} <= {*subject.test.table.columns}:
        from assay.audit.subject import index_rows, join_ids

        positions = index_rows(join_ids(subject.test.table, subject.ids))
        known = np.array([positions.get(id, -1) for id in subject.row_ids])
        if (known >= 0).all():
            yield "the position in the test table", known


def _parse_times(column: "pd.Series[Any]") -> NDArray[np.float64] | None:
    numbers = pd.to_numeric(column, errors="coerce")
    if numbers.notna().mean() >= _MIN_PARSED:
        values = numbers.dropna().to_numpy(float)
        plausible = [(values > 6e8 * unit) & (values < 2.2e9 * unit) for unit in (1, 1e3)]
        return values if any(test.mean() >= _MIN_PARSED for test in plausible) else None
    dates = pd.to_datetime(column, errors="coerce", utc=True, format="mixed")
    if dates.notna().mean() < _MIN_PARSED:
        return None
    return dates.dropna().dt.tz_localize(None).to_numpy().astype("datetime64[ns]").astype(np.float64)
