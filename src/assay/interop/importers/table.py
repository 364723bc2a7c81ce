"""Plain CSV files: a row a trial with `task`, `agent`, and `score` or `success`; also `assay report --csv --trials`."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from assay.core.errors import RecordError
from assay.core.untrusted import open_plain, read_plain
from assay.grading.result import Integrity
from assay.interop.importers.read import Importer
from assay.interop.importers.trial import (
    SUCCESS,
    ReportedTrial,
    read_amount,
    read_count,
    read_flag,
    read_moment,
    read_name,
    read_number,
    read_reason,
    read_text,
)
from assay.records.state import Cause

_MAX_SIZE = 256 * 2**20
_HEADER = 64 * 2**10
_CAUSES: Mapping[str, Cause] = {"agent": "agent", "infrastructure": "infrastructure", "user": "user"}
_CONDITIONS = ("budget", "hardware", "network", "description")


def find_files(files: Sequence[Path]) -> list[Path]:
    """Return the CSV files that have the columns of trials."""
    return [path for path in files if path.suffix == ".csv" and _has_trials(path)]


def _has_trials(path: Path) -> bool:
    with open_plain(path, _MAX_SIZE) as file:
        head = file.readline(_HEADER).decode("utf-8-sig", "replace")
    columns = set(next(csv.reader([head]), []))
    return {"task", "agent"} <= columns and bool(columns & {"score", "success"})


def read_trials(files: Sequence[Path]) -> Iterator[ReportedTrial]:
    """Yield the rows; a row with neither score nor success is a trial that failed."""
    for path in files:
        lines: dict[tuple[object, ...], int] = {}
        try:
            text = read_plain(path, _MAX_SIZE).decode("utf-8-sig")
            for number, row in enumerate(csv.DictReader(io.StringIO(text), strict=True), 2):
                trial = read_row({name: cell for name, cell in row.items() if cell}, f"{path}:{number}")
                key = (trial.suite, trial.task, trial.agent, trial.model, trial.seed, *trial.conditions.items())
                counts = not (trial.parent or trial.replaced or trial.repeated)
                if counts and trial.seed is not None and lines.setdefault(key, number) != number:
                    raise RecordError(
                        f"{path}:{number} is the trial of line {lines[key]} again: {trial.agent} on {trial.task} with "
                        f"seed {trial.seed}; give each trial a seed of its own, or leave the column out"
                    )
                yield trial
        except (UnicodeDecodeError, csv.Error) as error:
            raise RecordError(f"{path} is not a CSV file: {error}") from None


def read_row(row: Mapping[str, str], where: str) -> ReportedTrial:
    """Return a row, whose cells have the names of the frame's columns; empty cells are left out."""
    name = read_name(row.get("task"), f"{where}: the task")
    suite, slash, task = name.partition("/")
    score = read_number(row.get("score"))
    if score is None and "score" in row:
        raise RecordError(f"{where}: the score {row['score'][:40]!r} is not a finite number")
    success = read_flag(row.get("success"))
    if success is None and "success" in row:
        raise RecordError(f"{where}: success {row['success'][:40]!r} is neither true nor false")
    valid, counts = read_flag(row.get("valid")), read_flag(row.get("counts"))
    parent, replaces = read_text(row.get("parent")), read_text(row.get("replaces"))
    return ReportedTrial(
        suite=suite if slash else read_text(row.get("suite")),
        task=task if slash else name,
        agent=read_name(row.get("agent"), f"{where}: the agent"),
        model=read_text(row.get("model")),
        seed=_read_seed(row.get("seed"), where),
        trial=read_text(row.get("trial")),
        success=success if valid is not False else None,
        score=score if valid is not False else None,
        metric=read_text(row.get("metric")),
        binary="metric" not in row or row["metric"] == SUCCESS,
        lower_is_better=_read_direction(row.get("direction"), where),
        integrity=_read_integrity(row),
        parent=parent,
        replaces=replaces,
        replaced=counts is False and not parent and not replaces,
        repeated=counts is False and not parent and replaces is not None,
        load=read_amount(row.get("load")),
        pending=row.get("status") in ("waiting", "running", "submitted"),
        cause=_CAUSES.get(row.get("cause", "")),
        error_type=read_text(row.get("error_type")),
        reason=read_reason(row.get("reason")),
        seconds=read_amount(row.get("seconds")),
        steps=read_count(row.get("steps")),
        tokens=read_count(row.get("tokens")),
        cost=read_amount(row.get("cost")),
        sealed=read_flag(row.get("sealed")),
        started_at=read_moment(row.get("started_at")),
        ended_at=read_moment(row.get("ended_at")),
        edition=read_text(row.get("edition")),
        variant=read_text(row.get("variant")),
        conditions={name: text for name in _CONDITIONS if (text := read_text(row.get(name)))},
    )


def _read_direction(text: str | None, where: str) -> bool | None:
    if text not in (None, "lower", "higher"):
        raise RecordError(f"{where}: the direction {text[:40]!r} is neither higher nor lower")
    return None if text is None else text == "lower"


def _read_integrity(row: Mapping[str, str]) -> Integrity | None:
    """Return what the columns say of a planted shortcut and of a claim; None without any of them."""
    shortcut, false_success = read_flag(row.get("shortcut")), read_flag(row.get("false_success"))
    claimed = read_number(row.get("claimed"))
    if shortcut is None and false_success is None and claimed is None:
        return None
    return Integrity(
        planted=shortcut is not None,
        shortcut=shortcut,
        reason="as reported, not verified",
        false_success=false_success,
        claimed=claimed,
        calibration_error=read_amount(row.get("calibration_error")),
        overclaim=read_number(row.get("overclaim")),
    )


def _read_seed(text: str | None, where: str) -> int | None:
    if text is None:
        return None
    seed = read_count(text)
    if seed is None:
        raise RecordError(f"{where}: the seed {text[:40]!r} is not a number that is at least 0")
    return seed


IMPORTER = Importer("csv", find_files, read_trials)
