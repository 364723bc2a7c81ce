"""Comparison of a trial with this machine: the same task, data, environment, agent and code, and the same grade.

A record may come from anywhere, so nothing in it decides what is executed here: tasks are those that the caller knows,
the file of an agent is hashed but not imported, and submitted code that must run to be graded runs in a sandbox.
"""

import math
from collections.abc import Iterator
from pathlib import Path

from assay import __version__
from assay.core.errors import AssayError, NotPrepared, UsageError
from assay.core.home import Home
from assay.data.store import load_prepared
from assay.grading import grade_submission
from assay.grading.result import Grade
from assay.lab.interface import SandboxName
from assay.records import TrialFile, TrialFolder
from assay.records.verify import RecordFinding
from assay.runs.hashes import (
    hash_of_agent,
    hash_of_code,
    hash_of_data,
    hash_of_environment,
    hash_of_folder,
)
from assay.tasks import Registry, Task

# One unit of the fifth decimal, to which scores are rounded: another machine may add in another order.
_ROUNDING = 1.1e-5
_EXACT_FIELDS = ("submission_exists", "valid_submission", "not_finite", "edition", "variant", "task")
_SCORE_FIELDS = (
    "any_medal", "gold_medal", "silver_medal", "bronze_medal", "above_median", "percentile", "rank", "success",
)  # fmt: skip


def compare_trial(
    folder: TrialFolder, known: Registry, home: Home, *, sandbox: SandboxName = "bubblewrap", regrade: bool = True
) -> Iterator[RecordFinding]:
    """Yield what does not match this machine; what cannot be compared here is a remark."""
    name, file = folder.path.name, folder.file
    try:
        task = known.task(file.task).in_edition(file.edition)
    except UsageError as error:
        yield RecordFinding(name, "task", f"not compared or regraded: {error}", "remark")
        return
    yield from _check_hashes(name, file, task, home)
    if not regrade or folder.grade is None:
        return
    submission_entry = folder.submission
    if submission_entry and not submission_entry.resolve().is_relative_to(folder.path.resolve() / "submission"):
        yield RecordFinding(name, "submission/manifest.json", f"{submission_entry} is outside of the record")
        return
    if submission_entry and not submission_entry.exists():
        yield RecordFinding(name, "grade", "not regraded: the submission is not in the record", "remark")
        return
    yield from _regrade(folder, folder.grade, file, task, home, sandbox)


def _check_hashes(name: str, file: TrialFile, task: Task, home: Home) -> Iterator[RecordFinding]:
    # Assay's own code and agents change with its version.
    same_version = file.versions.get("assay") == __version__
    for what, here in _hashes_here(file, task, home).items():
        recorded = file.hashes.get(what)
        if recorded is None:
            yield RecordFinding(name, what, "no hash is recorded", "remark")
        elif here is None:
            yield RecordFinding(name, what, "not compared: not on this machine", "remark")
        elif here != recorded:
            ours = what == "code" or (what == "agent" and not same_version)
            says = f"differs from the record: its hash is {here[:12]}, recorded was {recorded[:12]}"
            yield RecordFinding(name, what, says, "remark" if ours else "error")


def _hashes_here(file: TrialFile, task: Task, home: Home) -> dict[str, str | None]:
    try:
        data = hash_of_data(load_prepared(home, task, file.edition, file.variant))
    except (NotPrepared, UsageError):
        data = None
    return {
        "task": hash_of_folder(task.folder),
        "data": data,
        "environment": hash_of_environment(home.environments / Path(file.environment).name),
        "agent": hash_of_agent(file.agent),
        "code": hash_of_code(),
    }


def _regrade(
    folder: TrialFolder, grade: Grade, file: TrialFile, task: Task, home: Home, sandbox: SandboxName
) -> Iterator[RecordFinding]:
    name = folder.path.name
    try:
        data = load_prepared(home, task, file.edition, file.variant)
        again = grade_submission(folder.submission, task, data, home=home, sandbox=sandbox)
    except AssayError as error:
        yield RecordFinding(name, "grade", f"not regraded: {error}", "remark")
        return
    same = scores_agree(grade, again)
    if not same:
        yield RecordFinding(name, "grade", f"regraded, the score is {again.score}; recorded was {grade.score}")
    for field in (*_EXACT_FIELDS, *(_SCORE_FIELDS if same and grade.deterministic else ())):
        then, now = getattr(grade, field), getattr(again, field)
        if then != now:
            yield RecordFinding(name, "grade", f"regraded, {field} is {now}; recorded was {then}")


def scores_agree(then: Grade, now: Grade) -> bool:
    """Whether two grades of one submission agree; measured times, within the tolerance of both."""
    if then.score is None or now.score is None:
        return then.score == now.score
    if then.deterministic:
        return math.isclose(then.score, now.score, rel_tol=1e-9, abs_tol=_ROUNDING)
    margin = (then.tolerance or 0.0) * abs(then.score) + (now.tolerance or 0.0) * abs(now.score)
    return abs(then.score - now.score) <= margin
