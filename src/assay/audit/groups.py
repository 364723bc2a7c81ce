"""Groups on both sides of the split: patients, speakers, sentences, families whose rows are in train and in test.

A group is a column whose name says so, or the first part of an id such as `0139_03`. Where test files were renamed,
gaps in the numbering of the training files still show that their neighbors are in the test.
"""

import os
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from assay.audit.duplicates import describe_examples
from assay.audit.finding import AuditFinding, Severity
from assay.audit.subject import Subject

CHECK, GAPS = "groups on both sides", "gaps in numbering"

_GROUP_WORDS = {
    "patient", "subject", "speaker", "sentence", "session", "group", "study", "recording", "breath", "molecule", "trip",
    "drive", "family", "household", "spectrogram", "utterance",
}  # fmt: skip
"""Words that name what belongs together."""
_WEAK_WORDS = {"id", "uid", "user", "location", "anchor", "ancestor", "machine", "author"}
"""Words that often only name a category."""
_MIN_SHARE = 0.05
_MIN_GROUPS = 10
_MAX_FILES = 200_000
_MAX_NUMBER = 50
_NUMBERED = re.compile(r"(.*[_\-. ])(\d{1,3})(\.\w+)?")


def check_groups(subject: Subject) -> list[AuditFinding]:
    """Count the test groups that have rows in train, for every column that may name groups."""
    if subject.train is None or subject.test_rows is None:
        return [AuditFinding(CHECK, "skipped", "there are no two tables of rows to compare")]
    computed_on = f"{subject.train.name}, {subject.test_rows.name} with the private answers"
    findings, tried = [], []
    for name, train, test in _candidates(subject):
        sizes = pd.concat([train, test]).value_counts()
        if not _MIN_GROUPS <= len(sizes) <= 0.9 * sizes.sum() or (_is_count(train) and _is_count(test)):
            continue
        tried.append(name)
        known = {*train} - {""}
        shared = sorted({*test} & known)
        share = len(shared) / max(1, len({*test} - {""}))
        if len(shared) >= _MIN_GROUPS and share >= _MIN_SHARE:
            rows = float(test.isin(known).mean())
            text = f"{len(shared):,} of {test.nunique():,} test groups by {name} are in train too"
            evidence = (f"{rows:.0%} of the test rows belong to them", f"for example: {describe_examples(shared)}")
            severity: Severity = "medium" if _words(name) & {*_GROUP_WORDS, "part"} else "low"
            findings.append(AuditFinding(CHECK, severity, text, evidence, computed_on))
    if findings:
        return findings
    text = f"no test group by {', '.join(tried)} is in train" if tried else "no column names groups"
    return [AuditFinding(CHECK, "none" if tried else "skipped", text, (), computed_on)]


def check_gaps(subject: Subject) -> list[AuditFinding]:
    """Count the numbers that are missing between training files of one group."""
    groups: dict[str, list[int]] = defaultdict(list)
    files = 0
    for path in _training_files(subject.public):
        files += 1
        match = _NUMBERED.fullmatch(path)
        if match:
            groups[match[1]].append(int(match[2]))
    computed_on = f"the names of {files:,} training files"
    numbered = {name: {*numbers} for name, numbers in groups.items() if max(numbers) < _MAX_NUMBER}
    if len(numbered) < 3 * _MIN_GROUPS or len(numbered) < 0.5 * len(groups):
        return [AuditFinding(GAPS, "skipped", "training files are not numbered within groups", (), computed_on)]
    first = min(min(numbers) for numbers in numbered.values())
    broken = sorted(name for name, numbers in numbered.items() if len(numbers) < max(numbers) + 1 - first)
    text = f"{len(broken):,} of {len(numbered):,} groups of training files have missing numbers"
    if len(broken) < 3 or len(broken) < 0.01 * len(numbered):
        return [AuditFinding(GAPS, "none", text, (), computed_on)]
    evidence = (f"for example: {describe_examples([Path(name).name for name in broken])}",)
    return [AuditFinding(GAPS, "medium", f"{text}: the files are probably in the test", evidence, computed_on)]


def _candidates(subject: Subject) -> "Iterator[tuple[str, pd.Series[str], pd.Series[str]]]":
    train, test = subject.train, subject.test_rows
    assert train is not None and test is not None
    for column in train.table.columns:
        if column in test.table.columns and column != (subject.ids[0] if subject.ids else None) and names_group(column):
            yield f"column {column}", train.table[column], test.table[column]
    task = subject.prepared.task if subject.prepared else None
    if not subject.ids or (task and task.data.ids_per_side):
        return
    id = subject.ids[0]
    source = task.data.id if task and task.data.id else id
    if source in train.table.columns and id in subject.table.columns:
        sides = [_first_parts(list(side)) for side in (train.table[source], subject.table[id])]
        if all(part is not None for part in sides):
            yield f"the first part of {id}", pd.Series(sides[0], dtype=object), pd.Series(sides[1], dtype=object)


def names_group(column: str) -> bool:
    """Whether a column may name groups, by the words of its name."""
    return bool((_GROUP_WORDS | _WEAK_WORDS) & _words(column))


def _words(name: str) -> set[str]:
    return {*re.split(r"[\W_]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).lower())}


def _is_count(column: "pd.Series[str]") -> bool:
    """Whether groups are numbered from 0 or 1 without gaps, as they are where each side numbers its own."""
    different = column.drop_duplicates()
    if not different.str.fullmatch(r"\d{1,9}").all():
        return False
    numbers = different.astype(int)
    return bool(numbers.min() <= 1 and numbers.max() - numbers.min() + 1 == len(numbers))


def _first_parts(ids: Sequence[str]) -> list[str] | None:
    """Return what precedes the short number at the end of each id; None unless all ids are built that way."""
    matches = [re.fullmatch(r"(.+)[_\-/](\d{1,3})", id) for id in ids]
    return [match[1] for match in matches if match] if ids and all(matches) else None


def _training_files(public: Path) -> Iterator[str]:
    files = 0
    for folder, _, names in os.walk(public):
        relative = Path(folder).relative_to(public).as_posix()
        if "train" in relative.lower():
            for name in names:
                files += 1
                if files > _MAX_FILES:
                    return
                yield f"{relative}/{name}"
