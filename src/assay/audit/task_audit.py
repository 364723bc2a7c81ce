"""Audit a task or a folder of data: run all checks, each on bounded samples, and collect what they find.

Start reading at `audit_task`. Every check is a function that returns at least one finding, also when it finds nothing.
"""

import json
import time
from collections.abc import Callable, Collection
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
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
from assay.core.errors import AssayError, UsageError
from assay.core.home import Home
from assay.core.progress import Progress
from assay.data.store import Prepared

FORMAT = "audit/1"
MAX_SECONDS = 900.0

Check = Callable[[], list[AuditFinding]]
"""Makes one check of one subject."""


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
        "assay check": lambda: [_from_check(*astuple(result)) for result in check_task(prepared, home)],
        "public labels": lambda: known_leaks.list_known(prepared),
    }
    if not task.judged_in_lab and task.submission.form == "csv":
        subject, sample_score = Subject.of_task(prepared), _published_sample_score(prepared)
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
    return {
        "single predictors": lambda: predictors.check_predictors(subject),
        "duplicate rows": lambda: duplicates.check_rows(subject),
        "near-duplicate texts": lambda: duplicates.check_texts(subject),
        "shared measurements": lambda: duplicates.check_values(subject),
        "duplicate files": lambda: image_duplicates.check_files(subject),
        "near-duplicate images": lambda: image_duplicates.check_images(subject),
        "groups on both sides": lambda: groups.check_groups(subject),
        "gaps in numbering": lambda: groups.check_gaps(subject),
        "order of ids and rows": lambda: order.check_order(subject),
        "timestamps": lambda: order.check_times(subject),
        "metadata of test files": lambda: metadata_leaks.check_metadata(subject),
        "answers in test files": lambda: side_files.check_side_files(subject),
        "test items in training files": lambda: references.check_references(subject),
        "inputs of test rows": lambda: references.check_inputs(subject),
        "unscored labels": lambda: references.check_unasked(subject),
        "headers of text files": lambda: references.check_headers(subject),
        "strings parsed as missing": lambda: references.check_lost_words(subject),
        "columns in the description": lambda: preparation.check_described_columns(subject),
        "empty archives": lambda: preparation.check_archives(subject),
        "lines of text files": lambda: preparation.check_lines(subject),
        "rows per item": lambda: preparation.check_dropped(subject),
        "test period": lambda: preparation.check_period(subject),
        "sizes of train and test": lambda: split_rule.check_share(subject),
        "split can be rebuilt": lambda: split_rule.check_rebuild(subject),
    }


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
            except (AssayError, OSError, ValueError, KeyError, MemoryError) as error:
                what = f"{type(error).__name__}: {error}"
                findings.append(AuditFinding(title, "skipped", f"the data could not be read: {what[:200]}"))
            advance(1)
    return findings


def _from_check(name: str, passed: bool | None, detail: str) -> AuditFinding:
    severity: Severity = "none" if passed else "skipped" if passed is None else "high"
    return AuditFinding(name, severity, detail, (), "all prepared files; see assay check")


def _published_sample_score(prepared: Prepared) -> float | None:
    path = Path(prepared.task.folder.parent, "sample_scores.json")
    if not path.is_file():
        return None
    score = json.loads(path.read_text("utf-8"))["scores"].get(prepared.task.name)
    return float(score) if isinstance(score, int | float) else None
