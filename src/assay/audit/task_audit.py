"""Audit a task or a folder of data: run all checks, each on bounded samples, and collect what they find.

Start reading at `audit_task`. Every check is a function that returns at least one finding, also when it finds nothing.
"""

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, astuple, dataclass
from functools import partial
from typing import Any

from assay.audit import (
    duplicates,
    grader_probes,
    groups,
    image_duplicates,
    known_leaks,
    leaderboard,
    metadata_leaks,
    order,
    predictors,
    preparation,
    references,
    side_files,
    split_rule,
    trivial,
)
from assay.audit.finding import SEVERITIES, AuditFinding, Severity
from assay.audit.subject import Subject
from assay.audit.task_check import check_task
from assay.core.errors import UsageError
from assay.core.home import Home
from assay.core.plugins import Plugins
from assay.core.progress import Progress
from assay.data.store import Prepared
from assay.tasks.facts import read_facts

FORMAT = "audit/1"
MAX_SECONDS = 900.0

Check = Callable[[], list[AuditFinding]]
"""Makes one check of one subject."""


DataChecks = Mapping[str, Callable[[Subject], list[AuditFinding]]]
"""Title of a check -> the function that makes it."""

CHECKS = Plugins[DataChecks]("checks", "checks", lambda value: isinstance(value, Mapping))
BUILT_IN: DataChecks = {
    "single predictors": predictors.check_predictors,
    "duplicate rows": duplicates.check_rows,
    "near-duplicate texts": duplicates.check_texts,
    "shared measurements": duplicates.check_values,
    "duplicate files": image_duplicates.check_files,
    "near-duplicate images": image_duplicates.check_images,
    "groups on both sides": groups.check_groups,
    "gaps in numbering": groups.check_gaps,
    "order of ids and rows": order.check_order,
    "timestamps": order.check_times,
    "metadata of test files": metadata_leaks.check_metadata,
    "answers in test files": side_files.check_side_files,
    "test items in training files": references.check_references,
    "inputs of test rows": references.check_inputs,
    "unscored labels": references.check_unasked,
    "headers of text files": references.check_headers,
    "strings parsed as missing": references.check_lost_words,
    "columns in the description": preparation.check_described_columns,
    "links and special files": preparation.check_special_files,
    "empty archives": preparation.check_archives,
    "lines of text files": preparation.check_lines,
    "rows per item": preparation.check_dropped,
    "test period": preparation.check_period,
    "sizes of train and test": split_rule.check_share,
    "split can be rebuilt": split_rule.check_rebuild,
}


@dataclass(frozen=True)
class TaskAudit:
    """Everything that was found about one task or folder."""

    name: str
    edition: str | None
    variant: str | None
    findings: tuple[AuditFinding, ...]
    seconds: float

    def count(self, severity: Severity) -> int:
        """How many findings have this severity."""
        return sum(finding.severity == severity for finding in self.findings)

    def defects(self) -> list[AuditFinding]:
        """The defects, the most serious first."""
        defects = [finding for finding in self.findings if finding.is_defect]
        return sorted(defects, key=lambda finding: SEVERITIES.index(finding.severity))

    def to_json(self) -> dict[str, Any]:
        """The audit as JSON data."""
        return {
            "format": FORMAT,
            "name": self.name,
            "edition": self.edition,
            "variant": self.variant,
            "seconds": round(self.seconds, 2),
            "findings": [asdict(finding) for finding in self.findings],
        }


def audit_task(
    prepared: Prepared,
    home: Home,
    *,
    progress: Progress,
    max_seconds: float = MAX_SECONDS,
    only: Collection[str] = (),
    label: str | None = None,
) -> TaskAudit:
    """Audit a prepared task: everything that `check_task` checks, and further.

    Args:
        prepared: The task's data.
        home: Where graders may keep files.
        progress: Shown the checks.
        max_seconds: Checks that would begin later are skipped, which their findings say.
        only: Beginnings of the names of checks to run; without any, all are run.
        label: What the progress is called.
    """
    started = time.monotonic()
    task = prepared.task
    checks: dict[str, Check] = {
        "quick checks": lambda: [_from_check(*astuple(result)) for result in check_task(prepared, home)],
        "public labels": lambda: known_leaks.list_known(prepared),
    }
    if not task.judged_in_lab and task.submission.form == "csv":
        subject, sample_score = Subject.of_task(prepared), read_facts(task.folder).sample_score
        checks |= {
            **_data_checks(subject),
            "trivial submissions": lambda: trivial.check_trivial(subject, home),
            "published sample submission": lambda: trivial.check_published_sample(subject, sample_score),
            "grader": lambda: grader_probes.check_grader(subject, home),
            "crowded leaderboard": lambda: leaderboard.check_leaderboard(subject, sample_score),
        }
    findings = _run(label or f"{task.id}: auditing", checks, started, max_seconds, progress, only)
    return TaskAudit(task.id, prepared.edition, prepared.variant, tuple(findings), time.monotonic() - started)


def audit_folder(
    subject: Subject, *, progress: Progress, max_seconds: float = MAX_SECONDS, only: Collection[str] = ()
) -> TaskAudit:
    """Audit a folder of data that no task describes, as far as that goes without a grader."""
    started = time.monotonic()
    findings = _run(f"{subject.name}: auditing", _data_checks(subject), started, max_seconds, progress, only)
    return TaskAudit(subject.name, None, None, tuple(findings), time.monotonic() - started)


def _data_checks(subject: Subject) -> dict[str, Check]:
    registered = [CHECKS.load(name) for name in CHECKS.names()]
    return {title: partial(check, subject) for checks in registered for title, check in checks.items()}


def _run(
    label: str,
    checks: dict[str, Check],
    started: float,
    max_seconds: float,
    progress: Progress,
    only: Collection[str],
) -> list[AuditFinding]:
    """Run the checks; one that cannot read the data is reported, and the others still run."""
    chosen = {title: check for title, check in checks.items() if not only or title.startswith(tuple(only))}
    if not chosen:
        raise UsageError(f"no check begins with {' or '.join(map(repr, only))}; there are: {', '.join(checks)}")
    findings: list[AuditFinding] = []
    with progress.stage(label, len(chosen)) as advance:
        for title, check in chosen.items():
            if time.monotonic() - started > max_seconds:
                findings.append(AuditFinding(title, "skipped", f"the time limit of {max_seconds:g} s was reached"))
                continue
            try:
                findings += check()
            except Exception as error:  # noqa: BLE001 - the readers of a dozen formats may raise anything
                what = f"{type(error).__name__}: {error}"
                findings.append(AuditFinding(title, "skipped", f"the data could not be read: {what[:200]}"))
            advance(1)
    return findings


def _from_check(name: str, passed: bool | None, detail: str) -> AuditFinding:
    severity: Severity = "none" if passed else "skipped" if passed is None else "high"
    return AuditFinding(name, severity, detail, (), "all prepared files; see assay audit --quick")
