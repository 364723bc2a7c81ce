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
from assay.grading.grade import make_grade
from assay.grading.noise import combine_deviations
from assay.grading.result import Grade, Judgement, TestNoise
from assay.lab.interface import SandboxName
from assay.lab.machine_load import describe_load, read_load
from assay.models.weights import LOCAL, hash_weights
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
# How far apart two measurements of speed may be: at least and at most this share of both.
_MIN_TOLERANCE, _MAX_TOLERANCE = 0.1, 0.5
_MAX_NOISE_RATIO = 1.5
# Not decided by the submission, the task and the data: when and where it was graded, the sentence on what is wrong
# with it, and what a measurement of time happened to be.
_NOT_RECOMPUTED = ("created_at", "submission_path", "format", "score", "tolerance", "sealed", "why")


def compare_trial(
    folder: TrialFolder, known: Registry, home: Home, *, sandbox: SandboxName = "bubblewrap", regrade: bool = True
) -> Iterator[RecordFinding]:
    """Yield what does not match this machine; what cannot be compared here is a remark."""
    name, file = folder.path.name, folder.file
    try:
        task = known.recorded_task(file.task).in_edition(file.edition)
    except UsageError as error:
        yield RecordFinding(name, "task", f"not compared or regraded: {error}", "remark")
        return
    yield from _check_hashes(name, file, task, home)
    if not regrade or folder.grade is None:
        return
    if _has_other_secret(file, task, home):
        message = "not regraded: the hidden data of this task was drawn from another machine's secret seed"
        yield RecordFinding(name, "grade", message, "remark")
        return
    submission = folder.submission
    if submission and not submission.exists():
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
        elif what == "data" and _has_other_secret(file, task, home):
            yield RecordFinding(name, what, "not compared: its hidden part was drawn from a secret seed", "remark")
        elif here != recorded:
            ours = what == "code" or (what == "agent" and not same_version)
            says = f"differs from the record: its hash is {here[:12]}, recorded was {recorded[:12]}"
            yield RecordFinding(name, what, says, "remark" if ours else "error")


def _hashes_here(file: TrialFile, task: Task, home: Home) -> dict[str, str | None]:
    try:
        data = hash_of_data(load_prepared(home, task, file.edition, file.variant))
    except (NotPrepared, UsageError):
        data = None
    local = any(model.startswith(LOCAL) for model in file.models.values())
    return {
        "task": hash_of_folder(task.folder),
        "data": data,
        "environment": hash_of_environment(home.environments / Path(file.environment).name),
        "agent": hash_of_agent(file.agent),
        "code": hash_of_code(),
        **({"weights": hash_weights(file.models, home)} if local else {}),
    }


def _has_other_secret(file: TrialFile, task: Task, home: Home) -> bool:
    """Whether this machine has other hidden data, because it is drawn from a seed that differs between machines."""
    try:
        data = load_prepared(home, task, file.edition, file.variant)
    except (NotPrepared, UsageError):
        return False
    return data.manifest.secret and file.hashes.get("data") != hash_of_data(data)


def _regrade(
    folder: TrialFolder, grade: Grade, file: TrialFile, task: Task, home: Home, sandbox: SandboxName
) -> Iterator[RecordFinding]:
    name = folder.path.name
    try:
        data = load_prepared(home, task, file.edition, file.variant)
        submission = folder.submission
        again = grade_submission(submission, data, home=home, sandbox=sandbox, isolated=True)
    except AssayError as error:
        yield RecordFinding(name, "grade", f"not regraded: {error}", "remark")
        return
    if not scores_agree(grade, again):
        message = f"regraded, the score is {again.score}; recorded was {grade.score}"
        busy = describe_load(read_load())
        if busy and scores_agree(grade, again, min_tolerance=_MAX_TOLERANCE):
            yield RecordFinding(name, "grade", f"not verified: {message}, but {busy}", "remark")
        else:
            yield RecordFinding(name, "grade", message)
        return
    # The recorded score may differ by rounding, or as a measurement does; everything else must follow from it.
    score = float(grade.not_finite) if grade.not_finite else grade.score
    # A measurement that claims to be far more precise than the new one is not believed.
    tolerance = again.tolerance and max(grade.tolerance or 0.0, again.tolerance / 2)
    judgement = Judgement(score=score, why=again.why, tolerance=tolerance, sealed=again.sealed, noise=grade.noise)
    expected = make_grade(submission, data, judgement)
    for field in Grade.model_fields:
        then, now = getattr(grade, field), getattr(expected, field)
        if field not in _NOT_RECOMPUTED and then != now:
            yield RecordFinding(name, "grade", f"regraded, {field} is {now}; recorded was {then}")
    if grade.noise and not _noises_agree(grade.noise, again.noise):
        errors = [noise.error if noise else None for noise in (again.noise, grade.noise)]
        yield RecordFinding(name, "grade", f"regraded, the noise of the score is {errors[0]}; recorded was {errors[1]}")
    if (grade.tolerance is None) is not (again.tolerance is None):
        yield RecordFinding(name, "grade", f"regraded, tolerance is {again.tolerance}; recorded was {grade.tolerance}")


def _noises_agree(then: TestNoise, now: TestNoise | None) -> bool:
    """Whether a recorded noise agrees with a new one; blocks may have been sampled by another version of NumPy."""
    if now is None or then.error is None or now.error is None:
        return now is not None and then.error == now.error
    if then.deviations and not math.isclose(combine_deviations(then.deviations), then.error, rel_tol=1e-3):
        return False
    return then.error <= now.error * _MAX_NOISE_RATIO and now.error <= then.error * _MAX_NOISE_RATIO


def scores_agree(then: Grade, now: Grade, min_tolerance: float = _MIN_TOLERANCE) -> bool:
    """Whether a recorded grade agrees with a new one; measured times, within the tolerance of the new one.

    What the record says about its own precision does not count: it could be forged along with the score.
    """
    if then.not_finite != now.not_finite:
        return False
    if then.score is None or now.score is None:
        return then.score == now.score
    if now.deterministic:
        return math.isclose(then.score, now.score, rel_tol=1e-9, abs_tol=_ROUNDING)
    tolerance = min(max(now.tolerance or 0.0, min_tolerance), _MAX_TOLERANCE)
    return abs(then.score - now.score) <= tolerance * (abs(then.score) + abs(now.score))
