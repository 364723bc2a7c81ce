"""Whether this machine comes to the same grades as the record, with the same task, data, environment and agent.

A record may come from anybody, so nothing in it decides what is executed here: tasks are those that the caller knows,
an agent's file is hashed and not loaded, and submitted code that must run to be graded runs in a sandbox of ours.
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
from assay.records.verify import Finding
from assay.runs.hashes import (
    hash_of_agent,
    hash_of_code,
    hash_of_data,
    hash_of_environment,
    hash_of_folder,
)
from assay.tasks import Registry, Task

# One unit of the fifth decimal, to which scores are rounded: sums may come out in another order on another machine.
_ROUNDING = 1.1e-5
_DECIDED = ("submission_exists", "valid_submission", "not_finite", "edition", "variant", "task")
_FOLLOWS_FROM_SCORE = (
    "any_medal", "gold_medal", "silver_medal", "bronze_medal", "above_median", "percentile", "rank", "success",
)  # fmt: skip


def recheck(
    folder: TrialFolder, known: Registry, home: Home, *, sandbox: SandboxName = "bubblewrap", regrade: bool = True
) -> Iterator[Finding]:
    """What of a trial does not match what is here; what cannot be compared here is a remark."""
    name, file = folder.path.name, folder.file
    try:
        task = known.task(file.task).in_edition(file.edition)
    except UsageError as error:
        yield Finding(name, "task", f"not checked, nor regraded: {error}", "remark")
        return
    yield from _check_hashes(name, file, task, home)
    if not regrade or folder.grade is None:
        return
    submission_entry = folder.submission
    if submission_entry and not submission_entry.resolve().is_relative_to(folder.path.resolve() / "submission"):
        yield Finding(name, "submission/manifest.json", f"{submission_entry} is not in the record")
        return
    if submission_entry and not submission_entry.exists():
        yield Finding(name, "grade", "not graded again: what was handed in is not here", "remark")
        return
    yield from _regrade(folder, folder.grade, file, task, home, sandbox)


def _check_hashes(name: str, file: TrialFile, task: Task, home: Home) -> Iterator[Finding]:
    # The agents that come with Assay change with it, and so does its code.
    same_version = file.versions.get("assay") == __version__
    for what, here in _hashes_here(file, task, home).items():
        told = file.hashes.get(what)
        if told is None:
            yield Finding(name, what, "the record does not tell its hash", "remark")
        elif here is None:
            yield Finding(name, what, "not checked: it is not on this machine", "remark")
        elif here != told:
            ours = what == "code" or (what == "agent" and not same_version)
            says = f"here it is another one: its hash is {here[:12]}, in the record {told[:12]}"
            yield Finding(name, what, says, "remark" if ours else "wrong")


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
) -> Iterator[Finding]:
    name = folder.path.name
    try:
        data = load_prepared(home, task, file.edition, file.variant)
        again = grade_submission(folder.submission, task, data, home=home, sandbox=sandbox)
    except AssayError as error:
        yield Finding(name, "grade", f"not graded again: {error}", "remark")
        return
    same = same_score(grade, again)
    if not same:
        yield Finding(name, "grade", f"graded again, the score is {again.score}, in the record {grade.score}")
    for field in (*_DECIDED, *(_FOLLOWS_FROM_SCORE if same and grade.deterministic else ())):
        then, now = getattr(grade, field), getattr(again, field)
        if then != now:
            yield Finding(name, "grade", f"graded again, {field} is {now}, in the record {then}")


def same_score(then: Grade, now: Grade) -> bool:
    """Whether two grades of one submission agree: measured times to within what both call their tolerance."""
    if then.score is None or now.score is None:
        return then.score == now.score
    if then.deterministic:
        return math.isclose(then.score, now.score, rel_tol=1e-9, abs_tol=_ROUNDING)
    margin = (then.tolerance or 0.0) * abs(then.score) + (now.tolerance or 0.0) * abs(now.score)
    return abs(then.score - now.score) <= margin
