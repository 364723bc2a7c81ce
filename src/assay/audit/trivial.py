"""Whether a submission without a model wins: nothing, a constant, a copy of the input, the nearest neighbor's label.

Scores are compared with the thresholds of the leaderboard. On miniatures they only indicate how the grader behaves,
because miniatures are easier than the competition; the findings say so.
"""

from collections.abc import Iterator
from typing import Any

import pandas as pd

from assay.audit.finding import AuditFinding, Severity
from assay.audit.nearest import copy_nearest_labels
from assay.audit.subject import Subject, read_submission_text
from assay.core.home import Home
from assay.grading.grade import find_medal, grade_submission
from assay.tasks import Leaderboard, Metric

CHECK = "trivial submissions"
PUBLISHED = "published sample submission"


def check_trivial(subject: Subject, home: Home) -> list[AuditFinding]:
    """Grade submissions that need no model, and compare them with the medals and the median."""
    if subject.key is None or subject.prepared is None:
        return [AuditFinding(CHECK, "skipped", "there is no grader")]
    task, prepared = subject.key.task, subject.prepared
    perfect = subject.key.perfect_submission()
    if isinstance(perfect, str):
        return [AuditFinding(CHECK, "skipped", perfect)]
    where = "real data" if subject.real else "a miniature: indicative only, it is easier than the competition"
    findings, scores = [], []
    for name, content in _submissions(subject, read_submission_text(perfect)):
        grade = grade_submission(content, prepared, home=home)
        score = float(grade.not_finite) if grade.not_finite else grade.score
        if not grade.valid_submission or score is None:
            continue
        scores.append(f"{name} {score:.5f}")
        if task.leaderboard and (text := _judge(score, task.leaderboard, task.metric)):
            severity: Severity = "medium" if subject.real else "low"
            findings.append(AuditFinding(CHECK, severity, f"{name} {text}", (f"score {score:.5f}",), where))
    if not scores:
        return [AuditFinding(CHECK, "skipped", "no trivial submission is valid")]
    if not task.leaderboard:
        return [AuditFinding(CHECK, "none", f"{'; '.join(scores)}; there is no leaderboard", (), where)]
    return findings or [AuditFinding(CHECK, "none", f"none reaches the median: {'; '.join(scores)}", (), where)]


def check_published_sample(subject: Subject, score: float | None) -> list[AuditFinding]:
    """Compare the sample submission's published score on the real data with the leaderboard."""
    task = subject.prepared.task if subject.prepared else None
    if task is None or task.leaderboard is None or score is None:
        return [AuditFinding(PUBLISHED, "skipped", "there is no published score of the sample submission")]
    board, computed_on = task.leaderboard, "the published score on the real data"
    if text := _judge(score, board, task.metric):
        return [AuditFinding(PUBLISHED, "low", f"the sample submission {text}", (f"score {score:g}",), computed_on)]
    span = abs(board.gold - board.median)
    if span and abs(score - board.bronze) < 0.05 * span:
        text = f"the sample submission scores {score:g}, close to bronze ({board.bronze:g})"
        return [AuditFinding(PUBLISHED, "low", text, (), computed_on)]
    return [AuditFinding(PUBLISHED, "none", f"score {score:g}, median {board.median:g}", (), computed_on)]


def _judge(score: float, board: Leaderboard, metric: Metric) -> str | None:
    if medal := find_medal(score, board, metric):
        return f"reaches the threshold for {medal}"
    return f"is better than the median ({board.median:g})" if metric.better(score, board.median) else None


def _submissions(subject: Subject, perfect: pd.DataFrame) -> Iterator[tuple[str, bytes]]:
    assert subject.key is not None and subject.prepared is not None
    data, rules = subject.key.task.data, subject.key.task.submission
    targets = [name for name in rules.columns if name in perfect.columns]
    side, _, rest = data.sample.partition("/")
    sample = (subject.prepared.public if side == "public" else subject.prepared.private) / rest
    if sample.is_file():
        yield "the sample submission", sample.read_bytes()
    for name, constants in _constants(perfect, targets):
        yield name, _write(perfect.assign(**constants))
    if any(rules.columns[name].type == "text" for name in targets):
        yield "an empty submission", _write(perfect.assign(**dict.fromkeys(targets, "")))
        yield from _copies(subject, perfect, targets)
    neighbors = copy_nearest_labels(subject, perfect, targets)
    if neighbors is not None:
        yield "the nearest training row's label", _write(neighbors)


def _constants(perfect: pd.DataFrame, targets: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the best constants: their choice knows the answers, so that no constant does better by much."""
    yield "the most frequent answer", {name: perfect[name].mode().iloc[0] for name in targets}
    numbers = {name: pd.to_numeric(perfect[name], errors="coerce") for name in targets}
    if all(column.notna().all() for column in numbers.values()):
        yield "the mean answer", {name: float(column.mean()) for name, column in numbers.items()}
        yield "the median answer", {name: float(column.median()) for name, column in numbers.items()}


def _copies(subject: Subject, perfect: pd.DataFrame, targets: list[str]) -> Iterator[tuple[str, bytes]]:
    """Copy each text column of the test table to the target."""
    id = subject.ids[0] if subject.ids else None
    if subject.test is None or id is None or id not in subject.test.table.columns or len(targets) != 1:
        return
    table = subject.test.table.drop_duplicates(id).set_index(id)
    for column in table.columns[:10]:
        copied = table[column].reindex(perfect[id]).fillna("").to_numpy()
        yield f"a copy of {column}", _write(perfect.assign(**{targets[0]: copied}))


def _write(table: pd.DataFrame) -> bytes:
    return str(table.to_csv(index=False)).encode()
