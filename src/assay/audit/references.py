"""Whether training files name test items, and whether side tables miss the test rows that they are needed for."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from assay.audit.duplicates import describe_examples
from assay.audit.finding import AuditFinding
from assay.audit.public_tables import MAX_JSON, find_tables
from assay.audit.subject import Subject, take_rows
from assay.core.errors import RecordError
from assay.core.untrusted import list_plain_files, read_json

NAMED, LACKING, UNASKED = "test items in training files", "inputs of test rows", "unscored labels"
HEADERS, LOST = "headers of text files", "strings parsed as missing"
_MISSING = ("NA", "N/A", "nan", "NaN", "null", "NULL", "None", "n/a")

_MIN_LENGTH = 8
_MAX_STRINGS = 2_000_000
_MIN_SHARE = 0.9
_MIN_WORDS = 20
_MAX_EMPTY = 0.01


def check_references(subject: Subject) -> list[AuditFinding]:
    """Compare the keys of the test side's JSON tables with all texts of the training side's."""
    keys: dict[str, set[str]] = {"train": set(), "test": set()}
    texts: dict[str, set[str]] = {}
    for path in _json_files(subject.public):
        side = "test" if "test" in path.parts[-2].lower() else "train" if "train" in path.parts[-2].lower() else None
        if side is None or path.stat().st_size > MAX_JSON:
            continue
        try:
            document = read_json(path, MAX_JSON, strict=False)
        except RecordError:
            continue
        if isinstance(document, list):
            keys[side] |= {
                row["token"] for row in document if isinstance(row, dict) and isinstance(row.get("token"), str)
            }
            if side == "train":
                texts[f"{path.parts[-2]}/{path.name}"] = set(_strings(document))
    if not keys["train"] or not keys["test"]:
        return [AuditFinding(NAMED, "skipped", "there are no JSON tables with tokens on both sides")]
    only_test = keys["test"] - keys["train"]
    computed_on = f"{len(texts)} training tables, {len(only_test):,} tokens that only the test side defines"
    findings = []
    for name, tokens in texts.items():
        if named := sorted(tokens & only_test):
            text = f"{name} names {len(named):,} items that only the test side has"
            findings.append(AuditFinding(NAMED, "medium", text, (describe_examples(named),), computed_on))
    return findings or [AuditFinding(NAMED, "none", "no training table names a test item", (), computed_on)]


def check_inputs(subject: Subject) -> list[AuditFinding]:
    """Look for tables that describe all training rows, or their groups, and no test row."""
    if subject.train is None or not subject.ids:
        return [AuditFinding(LACKING, "skipped", "there is no training table with ids")]
    sides = _key_columns(subject)
    findings, compared = [], 0
    for public in find_tables(subject.public):
        if public.name in (subject.train_file, subject.test_file) or "submission" in public.name.lower():
            continue
        table = take_rows(public.chunks())
        for column, (train, test) in sides.items():
            values = {*table[column]} if column in table.columns else set()
            if not values or not train or len(values & train) < _MIN_SHARE * len(train):
                continue
            compared += 1
            covered = len(values & test) / len(test)
            if covered < 0.1:
                text = f"{public.name} has all training values of {column} and {covered:.0%} of the test's"
                findings.append(AuditFinding(LACKING, "low", text, (), f"{len(train):,} and {len(test):,} values"))
    text = f"{compared} tables describe training and test rows alike"
    return findings or [
        AuditFinding(
            LACKING, "none" if compared else "skipped", text if compared else "no further table describes rows"
        )
    ]


def check_unasked(subject: Subject) -> list[AuditFinding]:
    """Look for training columns that are labels like those asked for, and are not."""
    if subject.train is None or subject.key is None or len(subject.labels.columns) < 3:
        return [AuditFinding(UNASKED, "skipped", "there are not several labels in a training table")]
    table, asked = subject.train.table, [*subject.labels.columns]
    known = [name for name in asked if name in table.columns]
    values = {value for name in known for value in table[name].unique()[:50]}
    if len(known) < 3 or len(values) > 10:
        return [AuditFinding(UNASKED, "skipped", "the labels are not columns with the same few values")]
    test = {*subject.test.table.columns} if subject.test is not None else set()
    others = [
        name
        for name in table.columns
        if name not in asked
        and name not in test
        and {*table[name].unique()[:50]} <= values
        and table[name].nunique() > 1
    ]
    computed_on = f"{subject.train.name}, {len(known)} labels that are asked for"
    if not others:
        return [AuditFinding(UNASKED, "none", "all labels are asked for", (), computed_on)]
    text = f"{len(others)} columns look like labels and are not scored: {describe_examples(others)}"
    return [AuditFinding(UNASKED, "low", text, (), computed_on)]


def check_headers(subject: Subject) -> list[AuditFinding]:
    """Look for text files in one folder with the same first line, though their rows have other numbers of fields."""
    files: dict[tuple[Path, str], dict[str, int]] = {}
    count = 0
    for path in list_plain_files(subject.public):
        if path.suffix not in (".txt", ".csv", ".tsv"):
            continue
        count += 1
        with path.open(encoding="utf-8", errors="replace") as file:
            head, row = file.readline(10_000).strip(), file.readline(100_000).strip()
        if head and row and not head.replace(",", "").isdigit():
            files.setdefault((path.parent, head), {})[path.name] = len(next(csv.reader([row])))
    wrong = [(head, sorted(names)) for (_, head), names in files.items() if len({*names.values()}) > 1]
    computed_on = f"the first two lines of {count:,} text files"
    if not wrong:
        return [AuditFinding(HEADERS, "none" if count else "skipped", f"{count:,} files", (), computed_on)]
    head, names = wrong[0]
    text = f"{', '.join(names)} have the same header, and rows of different lengths"
    return [AuditFinding(HEADERS, "low", text, (head[:100],), computed_on)]


def check_lost_words(subject: Subject) -> list[AuditFinding]:
    """Look for columns of words with a few empty cells, in which no cell reads NA, null or the like."""
    if subject.train is None:
        return [AuditFinding(LOST, "skipped", "there is no training table")]
    table, evidence, tried = subject.train.table, [], 0
    for column in table.columns:
        cells = table[column]
        empty = int((cells == "").sum())
        words = cells[cells != ""].head(1000)
        if len(words) < _MIN_WORDS or not words.str.contains(r"[^\W\d_]").mean() > 0.5 or cells.nunique() < _MIN_WORDS:
            continue
        tried += 1
        if 0 < empty <= max(2, _MAX_EMPTY * len(cells)) and not cells.isin(_MISSING).any():
            evidence.append(f"{column}: {empty} of {len(cells):,} cells are empty")
    computed_on = f"{tried} columns of words; {subject.train.name}"
    if not tried:
        return [AuditFinding(LOST, "skipped", "no column holds words", (), computed_on)]
    if not evidence:
        return [AuditFinding(LOST, "none", "no column has a few empty cells", (), computed_on)]
    text = "a few cells are empty where all others are words: words such as NA and null may have been lost"
    return [AuditFinding(LOST, "low", text, tuple(evidence), computed_on)]


def _json_files(public: Path) -> Iterator[Path]:
    return (path for path in list_plain_files(public) if path.suffix == ".json")


def _strings(document: Any) -> Iterator[str]:
    """Yield the texts in a document that are long enough to be keys."""
    pending, count = [document], 0
    while pending and count < _MAX_STRINGS:
        item = pending.pop()
        count += 1
        if isinstance(item, dict):
            pending += item.values()
        elif isinstance(item, list):
            pending += item
        elif isinstance(item, str) and len(item) >= _MIN_LENGTH:
            yield item


def _key_columns(subject: Subject) -> dict[str, tuple[set[str], set[str]]]:
    """Return the values of the columns that name rows or groups on both sides."""
    from assay.audit.groups import names_group

    assert subject.train is not None
    keys: dict[str, tuple[set[str], set[str]]] = {}
    test = subject.test_rows.table if subject.test_rows is not None else subject.table
    for column in subject.train.table.columns:
        if column in test.columns and (column in subject.ids or names_group(column) or column.endswith("name")):
            sides = {*subject.train.table[column]}, {*test[column]}
            if min(map(len, sides)) >= 5:
                keys[column] = sides
    return keys
