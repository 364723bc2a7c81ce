"""Faults of preparation that give no answer away, but leave agents with other data than the task describes."""

import csv
import re
from datetime import date
from itertools import islice
from pathlib import Path

import pandas as pd

from assay.audit.duplicates import describe_examples
from assay.audit.finding import AuditFinding
from assay.audit.public_tables import find_tables
from assay.audit.subject import Subject, take_rows
from assay.audit.test_files import find_archives
from assay.core.untrusted import find_special_file, list_plain_files

COLUMNS, ARCHIVES, LINES = "columns in the description", "empty archives", "lines of text files"
DROPPED, PERIOD, SPECIAL = "rows per item", "test period", "links and special files"

_MAX_COLUMNS = 20
_CATEGORY = re.compile(r"(^|[^a-z])(class|label|category|kind|type)($|[^a-z])", re.IGNORECASE)
"""Names of columns that say what an item is, unlike where it is."""
_MIN_REPEATED = 0.05
_MIN_ROWS = 20
_MAX_FILES = 1000
_MAX_BYTES = 5 * 10**6
_NUMBERS = (
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen",
    "fourteen",
)  # fmt: skip
_DURATION = re.compile(rf"\b(\d+|{'|'.join(_NUMBERS)})[ -](day|week)s?\b", re.IGNORECASE)
_DATE = r"\d{4}-\d\d-\d\d"


def check_described_columns(subject: Subject) -> list[AuditFinding]:
    """Look for columns of a submission that the description does not name; of many columns, only that of the id."""
    if subject.prepared is None:
        return [AuditFinding(COLUMNS, "skipped", "there is no description")]
    task = subject.prepared.task
    submission, text = task.submission, task.path("description.md").read_text("utf-8")
    columns = [*([submission.id] if submission.id else []), *submission.id_with]
    if len(submission.columns) <= _MAX_COLUMNS:
        columns += submission.columns
    unnamed = [name for name in columns if not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)]
    computed_on = f"description.md, {len(columns)} columns"
    if not unnamed:
        return [AuditFinding(COLUMNS, "none", "the description names all columns of a submission", (), computed_on)]
    text = f"the description does not name {describe_examples(unnamed)}, which submissions must have"
    return [AuditFinding(COLUMNS, "low", text, (), computed_on)]


def check_archives(subject: Subject) -> list[AuditFinding]:
    """Look for public archives without a file in them."""
    archives = dict(find_archives(subject.public))
    empty = [name for name, has_files in archives.items() if not has_files]
    computed_on = f"{len(archives):,} public archives"
    if empty:
        text = f"{len(empty)} archives have no file in them: {describe_examples(empty)}"
        return [AuditFinding(ARCHIVES, "low", text, (), computed_on)]
    return [AuditFinding(ARCHIVES, "none" if archives else "skipped", computed_on, (), computed_on)]


def check_special_files(subject: Subject) -> list[AuditFinding]:
    """Look for links, pipes and devices, which no check reads."""
    special = find_special_file(subject.public.resolve())
    computed_on = "the types of all files"
    if special is None:
        return [AuditFinding(SPECIAL, "none", "all files are regular files", (), computed_on)]
    text = "there are files that are not regular files; they are not read"
    return [AuditFinding(SPECIAL, "medium", text, (f"{special}",), computed_on)]


def check_lines(subject: Subject) -> list[AuditFinding]:
    """Look for text files in which most lines begin with a number and a comma, and some have the number alone."""
    texts = (path for path in list_plain_files(subject.public) if path.suffix in (".txt", ".csv", ".tsv"))
    evidence, count = [], 0
    for path in islice((path for path in texts if path.stat().st_size <= _MAX_BYTES), _MAX_FILES):
        head, *lines = path.read_text("utf-8", errors="replace").splitlines() or [""]
        count += 1
        bare = sum(line.isdigit() for line in lines)
        complete = sum(line.partition(",")[0].isdigit() for line in lines if "," in line)
        if "," in head and complete > bare > 0 and complete + bare == len(lines):
            name = path.relative_to(subject.public).as_posix()
            evidence.append(f"{name}: {bare} of {len(lines):,} lines have no comma after their number")
    computed_on = f"{count:,} text files (at most {_MAX_FILES:,}, of up to {_MAX_BYTES // 10**6} MB)"
    if evidence:
        text = "lines with nothing after their number have no comma, unlike all others"
        return [AuditFinding(LINES, "low", text, tuple(evidence), computed_on)]
    return [AuditFinding(LINES, "none" if count else "skipped", computed_on, (), computed_on)]


def check_dropped(subject: Subject) -> list[AuditFinding]:
    """Look for private tables with one row per item and category, where the training table has several."""
    if subject.prepared is None or subject.train is None or not subject.ids:
        return [AuditFinding(DROPPED, "skipped", "there is no training table with ids")]
    train, id = subject.train.table, subject.ids[0]
    compared = 0
    for private in find_tables(subject.prepared.private):
        table = take_rows(private.chunks())
        shared = [name for name in train.columns if name in table.columns]
        if id not in shared or len(table) < _MIN_ROWS or _share_repeated(table[[id]]) < _MIN_REPEATED:
            continue
        for column in shared:
            if column == id or not _CATEGORY.search(column):
                continue
            compared += 1
            repeated = _share_repeated(train[[id, column]])
            if repeated >= _MIN_REPEATED and not _share_repeated(table[[id, column]]):
                text = f"private {private.name} has one row per {id} and {column}, train has several"
                evidence = (f"{repeated:.0%} of the training rows repeat {id} and {column} of another row",)
                return [AuditFinding(DROPPED, "low", text, evidence, f"{subject.train.name}, {private.name}")]
    text = f"{compared} columns" if compared else "no private table has several rows per item, as the training table"
    return [AuditFinding(DROPPED, "none" if compared else "skipped", text, (), subject.train.name)]


def check_period(subject: Subject) -> list[AuditFinding]:
    """Compare the dates that only the raw training table has with the number of days in the description."""
    if subject.prepared is None or subject.raw is None or subject.train_file is None:
        return [AuditFinding(PERIOD, "skipped", "there is no raw data to compare with")]
    raw, public = (folder / subject.train_file for folder in (subject.raw, subject.public))
    described = _described_days(subject.prepared.task.path("description.md").read_text("utf-8"))
    days = _days_after(raw, public) if described and raw.is_file() and public.suffix == ".csv" else None
    if not days:
        return [
            AuditFinding(PERIOD, "skipped", "the test is not described as a number of days after the training data")
        ]
    computed_on = f"all dates of {subject.train_file}, raw and public"
    text = f"the raw data goes on for {days} days, the description says {' or '.join(map(str, sorted(described)))}"
    return [AuditFinding(PERIOD, "none" if days in described else "low", text, (), computed_on)]


def _share_repeated(table: pd.DataFrame) -> float:
    return float(table.duplicated().mean()) if len(table) else 0.0


def _described_days(text: str) -> set[int]:
    """Return the periods that a text names as a number of days or weeks, in days."""
    return {
        (int(number) if number.isdigit() else 1 + _NUMBERS.index(number.lower())) * (7 if unit.lower() == "week" else 1)
        for number, unit in _DURATION.findall(text)
    }


def _days_after(raw: Path, public: Path) -> int | None:
    """Return how many days the dates of the raw table go on after those of the public one, in its column of dates."""
    header, first = (next(csv.reader([line])) for line in _first_lines(public))
    column = next((name for name, value in zip(header, first, strict=False) if re.fullmatch(_DATE, value)), None)
    if column is None:
        return None
    last_days = [
        max(chunk[column].max() for chunk in pd.read_csv(path, usecols=[column], dtype=str, chunksize=1_000_000))
        for path in (raw, public)
    ]
    return (date.fromisoformat(last_days[0]) - date.fromisoformat(last_days[1])).days


def _first_lines(path: Path) -> tuple[str, str]:
    with path.open(encoding="utf-8", errors="replace") as file:
        return file.readline(), file.readline()
