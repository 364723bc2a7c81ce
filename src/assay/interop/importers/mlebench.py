"""Grading reports in the published format of MLE-bench: `*grading_report*.json`.

A report does not name its agent, so that is the folder of the file, unless Assay wrote it. Seeds are numbered in the
order of the file names.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from assay.core.errors import RecordError
from assay.core.text import describe_validation_error
from assay.core.untrusted import read_json
from assay.grading.result import Grade
from assay.interop.importers.read import Importer
from assay.interop.importers.trial import (
    ReportedTrial,
    read_list,
    read_moment,
    read_name,
    read_reason,
    read_table,
    read_text,
)


def find_files(files: Sequence[Path]) -> list[Path]:
    """Return the grading reports, by their names."""
    return sorted(path for path in files if "grading_report" in path.name and path.suffix == ".json")


def read_trials(files: Sequence[Path]) -> Iterator[ReportedTrial]:
    """Yield a trial for each competition of each report."""
    for path in files:
        report = read_json(path)
        entries = report.get("competition_reports") if isinstance(report, dict) else None
        if not isinstance(entries, list):
            raise RecordError(f"{path} is not a grading report: it has no competition_reports")
        agent = read_text(report.get("agent")) or path.parent.name or path.stem
        trials = [_read_entry(entry, agent, path) for entry in entries]
        yield from trials
        rules = trials[0] if trials else None  # all of a report have the same
        for entry in map(read_table, read_list(report.get("not_graded"))):
            name = read_name(entry.get("competition_id"), f"{path}: competition_id")
            yield ReportedTrial(
                suite=rules.suite if rules else "mlebench",
                task=name,
                agent=agent,
                task_metric=True,
                binary=False,
                cause="agent",
                reason=read_reason(entry.get("why")),
                edition=rules.edition if rules else "v1",
                variant=rules.variant if rules else "real",
            )


def _read_entry(entry: Any, agent: str, path: Path) -> ReportedTrial:
    if not isinstance(entry, dict):
        raise RecordError(f"{path}: a competition report is not an object")
    grade = _make_grade(entry, path)
    return ReportedTrial(
        suite=grade.task.partition("/")[0],
        task=grade.task.partition("/")[2],
        agent=agent,
        score=grade.score,
        task_metric=True,
        lower_is_better=grade.is_lower_better,
        grade=grade,
        cause=None if grade.valid_submission else "agent",
        failure=None
        if grade.valid_submission
        else "invalid submission"
        if grade.submission_exists
        else "no submission",
        reason=grade.why,
        ended_at=read_moment(grade.created_at),
        edition=grade.edition,
        variant=grade.variant,
    )


def _make_grade(entry: Mapping[str, Any], path: Path) -> Grade:
    """Return a competition report as a grade; a published one has no edition, and is of the published rules."""
    name = read_name(entry.get("competition_id"), f"{path}: competition_id")
    rules = {"task": f"mlebench/{name}", "edition": "v1", "variant": "real"}
    medals = {"success": entry.get("any_medal"), "success_published": entry.get("any_medal")}
    defaults = rules | (medals if "task" not in entry else {})
    try:
        return Grade.model_validate(defaults | dict(entry))
    except ValidationError as error:
        raise RecordError(f"{path}: {name}: {describe_validation_error(error)}") from None


IMPORTER = Importer("mlebench", find_files, read_trials)
