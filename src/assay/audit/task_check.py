"""Whether a prepared task can be trusted: it can be graded, and nothing public gives the answers away."""

import hashlib
import json
import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from assay.audit.file_leaks import find_leaks
from assay.core.disk import hash_file
from assay.core.errors import AssayError
from assay.core.home import Home
from assay.data.store import Prepared
from assay.grading.by_running.checkpoint import with_predictions_table
from assay.grading.grade import grade_submission
from assay.tasks import Task

_TABLES = (".csv", ".json", ".tsv", ".csv.zip", ".tsv.zip")
_LARGEST_TABLE = 2 * 10**9


@dataclass(frozen=True)
class Finding:
    """What one check found; `passed` is None where the task has nothing of the kind."""

    check: str
    passed: bool | None
    detail: str


def check_task(prepared: Prepared, home: Home) -> list[Finding]:
    """All checks of a prepared task, in order."""
    task = prepared.task
    if task.judged_in_lab:
        return _of_checkpoint(prepared, home)
    if task.submission.form != "csv":
        return [Finding("answers", None, "it is judged by running code"), _nothing_private(prepared)]
    answers = pd.read_csv(prepared.private / task.data.answers, dtype=str, keep_default_na=False)
    return [
        _unique_ids(task, answers),
        _disjoint(task, prepared.public),
        _sample(prepared, home),
        _gold(prepared, home),
        _no_answers_in_tables(task, prepared.public, answers),
        _nothing_private(prepared),
        _no_tells(task, prepared.public, answers),
    ]


def _of_checkpoint(prepared: Prepared, home: Home) -> list[Finding]:
    """What can be told without a checkpoint: inputs are there, and the right predictions would be scored as such."""
    task = with_predictions_table(prepared.task)
    answers = pd.read_csv(prepared.private / task.data.answers, dtype=str, keep_default_na=False)
    return [
        _hidden_inputs(prepared),
        _unique_ids(task, answers),
        _gold(replace(prepared, task=task), home),
        _no_answers_in_tables(task, prepared.public, answers),
        _nothing_private(prepared),
    ]


def _hidden_inputs(prepared: Prepared) -> Finding:
    inputs = [path for path in (prepared.private / "inputs").rglob("*") if path.is_file()]
    return Finding(
        "there are hidden inputs", bool(inputs), f"{len(inputs):,} files for the judge; no checkpoint was run"
    )


def _unique_ids(task: Task, answers: pd.DataFrame) -> Finding:
    if task.submission.id is None:
        return Finding("ids are unique", None, "rows have no ids")
    repeated = int(answers[task.submission.id].duplicated().sum())
    return Finding("ids are unique", not repeated, f"{len(answers):,} rows, {repeated:,} ids repeated")


def _disjoint(task: Task, public: Path) -> Finding:
    name, data = "train and test are disjoint", task.data
    if not (data.train and data.test and data.id):
        return Finding(name, None, "there are no two tables with ids to compare")
    if data.ids_per_side:
        return Finding(name, None, "each side numbers its rows anew")
    train, test = (_column(public / table, data.id) for table in (data.train, data.test))
    shared = sorted(train & test)
    detail = f"{len(train):,} and {len(test):,} ids"
    return Finding(name, not shared, detail if not shared else f"{len(shared):,} ids are on both sides, as {shared[0]}")


def _sample(prepared: Prepared, home: Home) -> Finding:
    name = "the sample is valid, without a medal"
    side, _, rest = prepared.task.data.sample.partition("/")
    path = (prepared.public if side == "public" else prepared.private) / rest
    grade = grade_submission(path, prepared.task, prepared, home=home)
    if grade.valid_submission and not grade.any_medal:
        return Finding(name, True, f"score {_score(grade.score)}")
    return Finding(name, False, grade.why or f"score {_score(grade.score)} wins a medal")


def _gold(prepared: Prepared, home: Home) -> Finding:
    """Grade the answers as if they were handed in, with the columns that are asked for and no others."""
    name, task = "the answers win gold", prepared.task
    gold = task.data.gold.removeprefix("private/") if task.data.gold else task.data.answers
    wanted = [*([task.submission.id] if task.submission.id else []), *task.submission.columns]
    table = pd.read_csv(prepared.private / gold, dtype=str, keep_default_na=False)
    if prepared.task.judged == "checkpoint" and not {*wanted} <= {*table.columns}:
        return Finding(name, None, "the answers are no predictions")
    content = table[wanted].to_csv(index=False).encode()
    grade = grade_submission(content, task, prepared, home=home)
    if task.leaderboard is None:
        return Finding(name, grade.valid_submission, grade.why or f"no leaderboard; score {_score(grade.score)}")
    return Finding(name, grade.gold_medal, grade.why or f"score {_score(grade.score)}")


def _no_answers_in_tables(task: Task, public: Path, answers: pd.DataFrame) -> Finding:
    """Look in every public table that names test rows for a column that equals the true values."""
    name, key = "no public table holds the answers", task.submission.id
    if key is None:
        return Finding(name, None, "rows have no ids")
    truth = answers.set_index(key)
    truth = truth[~truth.index.duplicated()]
    searched = 0
    for path in sorted(public.rglob("*")):
        if not path.name.endswith(_TABLES) or path.stat().st_size > _LARGEST_TABLE:
            continue
        table = _table(path)
        for column in table.columns:
            rows = table[table[column].isin(truth.index)]
            if len(rows) < 0.5 * len(truth):
                continue
            searched += 1
            true = truth.loc[rows[column]]
            for target in task.submission.columns:
                values = true[target].to_numpy()
                if len(set(values)) < 2:
                    continue
                found = [one for one in rows.columns if one != column and (rows[one].to_numpy() == values).all()]
                if found:
                    where = f"{path.relative_to(public)}, column {found[0]}"
                    return Finding(name, False, f"{where}, equals {target} of the answers")
    return Finding(name, True, f"{searched} tables name test rows")


def _nothing_private(prepared: Prepared) -> Finding:
    """No link leads out of public, and no private file lies there under whatever name."""
    name = "nothing private is in public"
    shown = {hashlib.sha256(content).hexdigest() for content in prepared.task.starter.values()}
    secrets = [path for path in prepared.private.rglob("*") if path.is_file() and hash_file(path) not in shown]
    private, sizes = {hash_file(path): path.name for path in secrets}, {path.stat().st_size for path in secrets}
    count = 0
    for folder, _, names in os.walk(prepared.public):
        for file in names:
            path, count = Path(folder, file), count + 1
            facts = path.lstat()
            if path.is_symlink() or facts.st_nlink != 1:
                return Finding(name, False, f"{path.relative_to(prepared.public)} is a link")
            if facts.st_size in sizes and (twin := private.get(hash_file(path))) and not _is_sample(prepared, path):
                return Finding(name, False, f"{path.relative_to(prepared.public)} is a copy of private/{twin}")
    return Finding(name, True, f"{count:,} files")


def _no_tells(task: Task, public: Path, answers: pd.DataFrame) -> Finding:
    name, key = "nothing around a file tells its label", task.submission.id
    if key is None:
        return Finding(name, None, "rows have no ids")
    labels = {column: _typed(answers[column]) for column in task.submission.columns}
    rows = {name: row for row, name in enumerate(answers[key])}
    if task.data.image and task.data.test:
        pictures = _table(public / task.data.test)
        rows |= {path: rows[name] for name, path in zip(pictures[key], pictures[task.data.image], strict=True)}
    seen, leaks = find_leaks(public, rows, labels)
    if not seen:
        return Finding(name, None, "test rows have no files of their own")
    strongest = max(leaks, key=lambda leak: leak.strength, default=None)
    if strongest is None:
        return Finding(name, True, f"{seen:,} files of test rows")
    telling = ", ".join(dict.fromkeys(leak.property for leak in leaks))
    odds = f"the {strongest.property} is {strongest.strength:.1f} standard deviations from chance"
    return Finding(name, False, f"{telling} of a file go with {strongest.label}: {odds}")


def _is_sample(prepared: Prepared, path: Path) -> bool:
    """Whether a private file's twin is the sample submission, which both sides may hold."""
    return bool(re.search("sample", path.name, re.IGNORECASE)) and "sample" in prepared.task.data.sample


def _table(path: Path) -> pd.DataFrame:
    if path.suffix == ".json":
        try:
            content = json.loads(path.read_bytes())
        except ValueError:
            return pd.DataFrame()
        return pd.DataFrame(content, dtype=str) if isinstance(content, list) else pd.DataFrame()
    try:
        separator = "\t" if ".tsv" in path.suffixes else ","
        return pd.read_csv(path, sep=separator, dtype=str, keep_default_na=False)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError):
        return pd.DataFrame()


def _column(path: Path, name: str) -> set[str]:
    table = _table(path)
    if name not in table.columns:
        raise AssayError(f"{path.name} has no column {name}, which task.toml names as its id")
    return set(table[name])


def _typed(column: "pd.Series[Any]") -> "np.ndarray[Any, Any]":
    numbers = pd.to_numeric(column, errors="coerce")
    return np.asarray(column if numbers.isna().any() else numbers)


def _score(score: float | None) -> str:
    return "none" if score is None else f"{score:.5f}"
