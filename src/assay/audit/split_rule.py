"""The split itself: how large its sides are, and whether anyone with the raw data can reproduce it."""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from assay.audit.finding import AuditFinding
from assay.audit.public_tables import find_tables
from assay.audit.subject import Subject, take_rows

SHARE, REBUILD = "sizes of train and test", "split can be rebuilt"

_SEEDS = (0, 42, 8, 1, 2, 123, 1234, 2020, 2021)
_MAX_ROWS = 1_000_000
_GROUPS = ("StudyInstanceUID", "patient_id", "PatientID")
"""Columns of which each value counts once, however many rows it has."""


def check_share(subject: Subject) -> list[AuditFinding]:
    """Report a training set that is smaller than the test set."""
    if subject.train is None or subject.test is None:
        return [AuditFinding(SHARE, "skipped", "there are no two tables of rows to compare")]
    tables = [side.table for side in (subject.train, subject.test)]
    groups = [name for name in _GROUPS if all(name in table.columns for table in tables)]
    sizes = [table[groups[0]].nunique() if groups else len(table) for table in tables]
    text = f"{sizes[0]:,} training and {sizes[1]:,} test {f'values of {groups[0]}' if groups else 'rows'}"
    computed_on = f"{subject.train.name}, {subject.test.name}"
    if sizes[0] < sizes[1]:
        return [AuditFinding(SHARE, "low", f"{text}: there is less to learn from than to predict", (), computed_on)]
    return [AuditFinding(SHARE, "none", text, (), computed_on)]


def check_rebuild(subject: Subject) -> list[AuditFinding]:
    """Try the usual seeds of a random split on the ids of both sides, in their own and in the raw data's order."""
    train = _train_ids(subject)
    test = list(dict.fromkeys(subject.table[subject.ids[0]])) if subject.ids else []
    if not train or len(test) < 3:
        return [AuditFinding(REBUILD, "skipped", "there are no ids on both sides")]
    if {*train} & {*test} or len(train) + len(test) > _MAX_ROWS:
        return [AuditFinding(REBUILD, "skipped", "both sides use the same ids, or have too many of them")]
    computed_on = f"{len(train):,} training and {len(test):,} test ids, seeds {', '.join(map(str, _SEEDS))}"
    for name, ids in _orders(subject, train, test):
        for seed in _SEEDS:
            sampled = np.random.RandomState(seed).permutation(len(ids))[: len(test)]
            if {ids[position] for position in sampled} == {*test}:
                text = f"a random split with seed {seed} of the ids in {name} gives the test rows"
                evidence = ("anyone with the labeled raw data and this rule has the answers",)
                return [AuditFinding(REBUILD, "low", text, evidence, computed_on)]
    return [AuditFinding(REBUILD, "none", "no usual seed gives the test rows", (), computed_on)]


def _train_ids(subject: Subject) -> list[str]:
    task = subject.prepared.task if subject.prepared else None
    name = (task.data.id if task else None) or (subject.ids[0] if subject.ids else None)
    if subject.train is None or name is None or name not in subject.train.table.columns:
        return []
    return list(dict.fromkeys(subject.train.table[name]))


def _orders(subject: Subject, train: Sequence[str], test: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    union = [*train, *test]
    yield "alphabetical order", sorted(union)
    if all(id.isdigit() for id in union):
        yield "numerical order", sorted(union, key=int)
    if subject.raw is None:
        return
    all_ids = {*union}
    for table in find_tables(subject.raw):
        rows = take_rows(table.chunks())
        for column in rows.columns:
            ids = [id for id in dict.fromkeys(rows[column]) if id in all_ids]
            if len(ids) == len(all_ids) and math.isclose(len(ids), len(union)):
                yield f"raw {table.name}", ids
