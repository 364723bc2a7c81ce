"""Whether the metadata of test files reveals labels: by the name of a field, or because its values follow them."""

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from assay.audit.file_metadata import is_empty, read_examples, read_fields
from assay.audit.finding import AuditFinding
from assay.audit.predictors import associated, combine_labels, find_links
from assay.audit.subject import Subject
from assay.audit.test_files import MAX_FILES, list_files, match_rows
from assay.core.untrusted import list_plain_files

CHECK = "metadata of test files"

_LABEL_WORDS = re.compile(
    r"(^|[^a-z])(labels?|targets?|class(es|name)?|diagnos\w*|annotations?|truth|ground_?truth|categor(y|ies)|answers?"
    r"|benign_malignant|malignant)($|[^a-z])",
    re.IGNORECASE,
)
_MAX_DEVIATIONS = 6.0
_MAX_EXAMPLES = 20_000


def check_metadata(subject: Subject) -> list[AuditFinding]:
    """Read the metadata of all test files and compare each field with the labels."""
    values: dict[str, dict[int, str]] = defaultdict(dict)
    unmatched: dict[str, str] = {}
    files = 0
    for source, fields, rows in _read_all(subject):
        files += 1
        for name, value in fields.items():
            for row in rows:
                values[name].setdefault(row, value)
            if not is_empty(value) and _LABEL_WORDS.search(name):
                unmatched.setdefault(name, f"{source}: {name} = {value[:60]}")
    computed_on = f"the metadata of {files:,} test files (at most {MAX_FILES:,}; TFRecord: {_MAX_EXAMPLES:,} examples)"
    if not files:
        return [AuditFinding(CHECK, "skipped", "no test file has metadata that can be read")]
    findings = []
    if unmatched:
        text = f"test files have fields for labels: {', '.join(unmatched)}"
        findings.append(AuditFinding(CHECK, "high", text, tuple(unmatched.values())[:5], computed_on))
    labels = combine_labels(subject.labels)
    for name, by_row in values.items():
        column = [by_row.get(row) for row in range(len(subject.table))]
        links = find_links(name, column, labels) if name not in unmatched else []
        if links:
            evidence = tuple(link.text for link in links[:3])
            findings.append(AuditFinding(CHECK, "high", f"the field {name} gives labels away", evidence, computed_on))
            continue
        label, deviations = associated(column, labels)
        if deviations > _MAX_DEVIATIONS and name not in unmatched:
            text = f"the field {name} is associated with {label}: {deviations:.1f} standard deviations from chance"
            findings.append(AuditFinding(CHECK, "low", text, (), computed_on))
    text = f"{len(values):,} fields, none reveals labels"
    return findings or [AuditFinding(CHECK, "none", text, (), computed_on)]


def _read_all(subject: Subject) -> Iterator[tuple[str, dict[str, str], list[int]]]:
    """Yield the fields of each test file or example, and the rows it belongs to, if they are known."""
    for file in list_files(subject.public):
        rows = match_rows(file.name, subject.rows_of_id)
        if not rows and file.side != "test":
            continue
        if fields := read_fields(file):
            yield file.name, fields, rows
    for path in _records(subject.public):
        for fields in read_examples(path, _MAX_EXAMPLES):
            rows = next((subject.rows_of_id[value] for value in fields.values() if value in subject.rows_of_id), [])
            rows = rows or next(
                (matches for value in fields.values() if (matches := match_rows(value, subject.rows_of_id))), []
            )
            if rows:
                yield path.name, fields, rows


def _records(public: Path) -> Iterator[Path]:
    return (path for path in list_plain_files(public) if ".tfrec" in path.name.lower())
