"""Check a prepared task: it can be graded by its own rules, and nothing public reveals the answers.

Ids, keys and columns are those of the task's submission rules: composite and repeated ids, and answers under other
names than the submission's, are taken as the grader takes them.
"""

import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from assay.audit.answer_key import AnswerKey
from assay.audit.file_leaks import find_leaks
from assay.audit.public_tables import read_columns
from assay.audit.table_leaks import search_tables
from assay.core.disk import hash_file
from assay.core.errors import AssayError
from assay.core.home import Home
from assay.core.text import plural
from assay.data.store import Prepared
from assay.grading.by_running.checkpoint import with_predictions_table
from assay.grading.grade import find_medal, grade_submission
from assay.grading.result import Grade, Medal
from assay.tasks import Task


@dataclass(frozen=True)
class CheckResult:
    """The result of one check; `passed` is None where the check does not apply to the task."""

    check: str
    passed: bool | None
    detail: str


def check_task(prepared: Prepared, home: Home) -> list[CheckResult]:
    """Run all checks that apply to a prepared task, in order."""
    if prepared.task.judged_in_lab:
        return _check_checkpoint_task(prepared, home)
    if prepared.task.submission.form != "csv":
        return [CheckResult("answers", None, "submissions are graded by running them"), _check_private_files(prepared)]
    key = AnswerKey(prepared)
    return [
        _check_ids(key),
        _check_disjoint(prepared),
        _check_sample(prepared, home),
        _check_gold(key, home),
        _check_tables(key),
        _check_private_files(prepared),
        _check_files(key),
    ]


def perfect_submission(prepared: Prepared) -> bytes | str:
    """Return the content of a submission with all answers, or why none can be made."""
    return AnswerKey(prepared).perfect_submission()


def _check_checkpoint_task(prepared: Prepared, home: Home) -> list[CheckResult]:
    """Check what can be checked without a checkpoint: inputs exist, and correct predictions would be scored as such."""
    key = AnswerKey(replace(prepared, task=with_predictions_table(prepared.task)))
    return [
        _check_hidden_inputs(prepared),
        _check_ids(key),
        _check_gold(key, home),
        _check_tables(key),
        _check_private_files(prepared),
    ]


def _check_hidden_inputs(prepared: Prepared) -> CheckResult:
    inputs = [path for path in (prepared.private / "inputs").rglob("*") if path.is_file()]
    return CheckResult("hidden inputs exist", bool(inputs), f"{len(inputs):,} files; no checkpoint was run")


def _check_ids(key: AnswerKey) -> CheckResult:
    name, submission = "ids are unique", key.task.submission
    if not key.id_columns:
        return CheckResult(name, None, "rows have no ids")
    repeated = int(key.table.duplicated(key.id_columns).sum())
    detail = f"{len(key.table):,} rows, {repeated:,} ids repeated"
    if not repeated:
        return CheckResult(name, True, detail)
    if submission.ids == "nth_occurrence":
        return CheckResult(name, None, f"{detail}; the n-th row of an id belongs to its n-th answer")
    if submission.lenient:
        return CheckResult(name, None, f"{detail}, as in the published data")
    return CheckResult(name, False, detail)


def _check_disjoint(prepared: Prepared) -> CheckResult:
    name, data = "train and test are disjoint", prepared.task.data
    if not (data.train and data.test and data.id):
        return CheckResult(name, None, "there are no two tables with ids to compare")
    if data.ids_per_side:
        return CheckResult(name, None, "train and test are numbered separately")
    test = set().union(*_ids(prepared.public / data.test, data.id))
    train, shared = 0, set()
    for ids in _ids(prepared.public / data.train, data.id):
        train += len(ids)
        shared |= test.intersection(ids)
    if shared:
        return CheckResult(name, False, f"{len(shared):,} ids are in both, e.g. {min(shared)}")
    return CheckResult(name, True, f"{train:,} and {len(test):,} ids")


def _check_sample(prepared: Prepared, home: Home) -> CheckResult:
    name = "the sample submission is valid and wins no medal"
    side, _, rest = prepared.task.data.sample.partition("/")
    path = (prepared.public if side == "public" else prepared.private) / rest
    grade = grade_submission(path, prepared, home=home)
    if grade.valid_submission and _reachable_medal(grade, prepared.task) is None:
        return CheckResult(name, True, f"score {_format_score(grade.score)}")
    return CheckResult(name, False, grade.why or f"score {_format_score(grade.score)} wins a medal")


def _reachable_medal(grade: Grade, task: Task) -> Medal | None:
    """Return the medal that this score would win on real data: on any other, grades have no medals."""
    if task.leaderboard is None or not grade.valid_submission:
        return None
    score = float(grade.not_finite) if grade.not_finite else grade.score
    return None if score is None else find_medal(score, task.leaderboard, task.metric)


def _check_gold(key: AnswerKey, home: Home) -> CheckResult:
    """Grade the answers as a submission with the columns that are asked for and no others."""
    name, task = "the answers win gold", key.task
    submission = key.perfect_submission()
    if isinstance(submission, str):
        return CheckResult(name, None, submission)
    grade = grade_submission(submission, key.prepared, home=home)
    detail = grade.why or f"score {_format_score(grade.score)}"
    if task.leaderboard is None:
        return CheckResult(name, grade.valid_submission, f"{detail}, no leaderboard")
    thresholds = "" if key.prepared.variant == "real" else ", by the thresholds of the real data"
    return CheckResult(name, _reachable_medal(grade, task) == "gold", detail + thresholds)


def _check_tables(key: AnswerKey) -> CheckResult:
    """Search every public table for a column that equals the true values of the test rows."""
    name = "no public table holds the answers"
    if not key.id_columns:
        return CheckResult(name, None, "rows have no ids")
    search = search_tables(key.prepared.public, key.table[key.id_columns], key.labels())
    if search.leak:
        where = f"{search.leak.table}, column {search.leak.column}"
        return CheckResult(name, False, f"{where}, equals {search.leak.target} of the answers")
    detail = f"test rows are named in {plural(search.tables, 'table')}"
    return CheckResult(name, True, "; searched ".join([detail, *search.cut]))


def _check_private_files(prepared: Prepared) -> CheckResult:
    """Look for links out of the public files, and for copies of private files under any name."""
    name = "no private file is public"
    starter = {hashlib.sha256(content).hexdigest() for content in prepared.task.starter.values()}
    private, sizes = {}, set()
    for path in prepared.private.rglob("*"):
        if path.is_file() and (digest := hash_file(path)) not in starter:
            private[digest] = path.name
            sizes.add(path.stat().st_size)
    count = 0
    for folder, _, names in os.walk(prepared.public):
        for file in names:
            path = Path(folder, file)
            relative, stat = path.relative_to(prepared.public), path.lstat()
            count += 1
            if path.is_symlink() or stat.st_nlink != 1:
                return CheckResult(name, False, f"{relative} is a link")
            copied = private.get(hash_file(path)) if stat.st_size in sizes else None
            if copied and not _is_sample(prepared, path):
                return CheckResult(name, False, f"{relative} is a copy of private/{copied}")
    return CheckResult(name, True, f"{count:,} files")


def _check_files(key: AnswerKey) -> CheckResult:
    """Compare what can be seen of the test rows' files with their labels."""
    name, data = "file properties do not reveal labels", key.task.data
    if not key.id_columns:
        return CheckResult(name, None, "rows have no ids")
    rows: dict[str, int] = {}
    for row, id in enumerate(key.table[key.id_columns[0]]):
        rows.setdefault(id, row)
    if data.image and data.test:
        for chunk in read_columns(key.prepared.public / data.test, [key.id_columns[0], data.image]):
            rows |= {path: rows[id] for id, path in chunk.itertuples(index=False)}
    labels = {str(column): parse_numbers(values) for column, values in key.labels().items()}
    files, leaks = find_leaks(key.prepared.public, rows, labels)
    if not files:
        return CheckResult(name, None, "test rows have no files of their own")
    if not leaks:
        return CheckResult(name, True, f"{files:,} files of test rows")
    strongest = max(leaks, key=lambda leak: leak.deviations)
    properties = ", ".join(dict.fromkeys(leak.property for leak in leaks))
    evidence = f"the {strongest.property} is {strongest.deviations:.1f} standard deviations from chance"
    return CheckResult(name, False, f"{properties} of a file is associated with {strongest.label}: {evidence}")


def _is_sample(prepared: Prepared, path: Path) -> bool:
    """Whether a public file is the sample submission, of which there may be a private copy."""
    return bool(re.search("sample", path.name, re.IGNORECASE)) and "sample" in prepared.task.data.sample


def _ids(path: Path, column: str) -> Iterator[set[str]]:
    try:
        for chunk in read_columns(path, [column]):
            yield set(chunk[column])
    except KeyError:
        raise AssayError(f"{path.name} has no column {column!r}, which task.toml names as its id") from None


def parse_numbers(column: "pd.Series[Any]") -> "np.ndarray[Any, Any]":
    numbers = pd.to_numeric(column, errors="coerce")
    return np.asarray(column if numbers.isna().any() else numbers)


def _format_score(score: float | None) -> str:
    return "none" if score is None else f"{score:.5f}"
