"""Comparison of a trial with this machine: the same task, data, environment, agent and code, and the same grade.

A record may come from anywhere, so nothing in it decides what is executed here: tasks are those that the caller knows,
the file of an agent is hashed but not imported, and submitted code that must run to be graded runs in a sandbox.
"""

import math
import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import anyio

from assay import __version__
from assay.core.errors import AssayError, NotPrepared, RecordError, RefusedCode, UsageError
from assay.core.home import Home
from assay.core.text import quote
from assay.data.store import load_prepared
from assay.grading import grade_submission
from assay.grading.grade import make_grade
from assay.grading.noise import combine_deviations
from assay.grading.result import Grade, Judgement, TestNoise
from assay.lab.host.memory import machine_memory
from assay.lab.interface import SandboxName
from assay.lab.machine_load import describe_load, read_load
from assay.models.weights import LOCAL, hash_weights
from assay.records import TrialFile, TrialFolder, read_events
from assay.records.code import MAX_CODE, check_code, decode_code, find_rerun
from assay.records.content_store import ContentStore
from assay.records.events import LabOpened
from assay.records.traces import read_traces
from assay.records.verify import Level, RecordFinding
from assay.runs.code_rerun import CodeLabs, find_tolerance, rerun_code, scores_agree
from assay.runs.hashes import (
    hash_of_agent,
    hash_of_code,
    hash_of_data,
    hash_of_environment,
    hash_of_folder,
)
from assay.tasks import Registry, Task
from assay.verification.attribution import check_attribution
from assay.verification.reselection import find_selection_faults

# One unit of the fifth decimal, to which scores are rounded: another machine may add in another order.
_ROUNDING = 1.1e-5
# How far apart two measurements of speed may be, as factors. The first is below that of a success, 1.1, so that chance
# makes none, and no submission can widen it. What is farther apart was not measured here, or was forged.
_SAME_SPEED, _OTHER_SPEED, _OTHER_SPEED_IF_BUSY = 1.08, 1.25, 3.0
# A new measurement that is less precise than this verifies nothing.
_MAX_TOLERANCE = 0.1
_MAX_NOISE_RATIO = 1.5
# Not decided by the submission, the task and the data: when and where it was graded, the sentence on what is wrong
# with it, and what a measurement of time happened to be.
_NOT_RECOMPUTED = ("created_at", "submission_path", "format", "score", "tolerance", "sealed", "why", "rerun")
CODE = "code"
"""The part of a finding on code that was not run again."""
Verdict = Literal["agrees", "unclear", "differs"]


def compare_trial(
    folder: TrialFolder, known: Registry, home: Home, *, sandbox: SandboxName = "auto", regrade: bool = True
) -> Iterator[RecordFinding]:
    """Yield what does not match this machine; what cannot be compared here is a remark."""
    name, file = folder.path.name, folder.file
    try:
        task = known.recorded_task(file.task).in_edition(file.edition)
    except UsageError as error:
        yield RecordFinding(name, "task", f"not compared or regraded: {error}", "unverified")
        return
    yield from _check_hashes(name, file, task, home)
    yield from check_attribution(folder, file, task)
    if not regrade or folder.grade is None:
        return
    if _has_other_secret(file, task, home):
        message = "not regraded: the hidden data of this task was drawn from another machine's secret seed"
        yield RecordFinding(name, "grade", message, "unverified")
        return
    submission = folder.submission
    if submission and not submission.exists():
        yield RecordFinding(name, "grade", "not regraded: the submission is not in the record", "unverified")
        return
    yield from _regrade(folder, folder.grade, file, task, home, sandbox)
    if file.selection != "own":
        yield from _reselect(folder, file, task, home)
    if file.submit == "code" and not task.timed:
        yield from _rerun_code(folder, folder.grade, file, task, home, sandbox)


def _reselect(folder: TrialFolder, file: TrialFile, task: Task, home: Home) -> Iterator[RecordFinding]:
    """Score the candidates on hidden rows once more."""
    name = folder.path.name
    try:
        for fault in find_selection_faults(folder, file, task, home):
            yield RecordFinding(name, "selection", fault)
    except AssayError as error:
        yield RecordFinding(name, "selection", f"candidates not scored again: {error}", "unverified")


def grade_again(folder: TrialFolder, known: Registry, home: Home, sandbox: SandboxName = "auto") -> Grade:
    """Return the grade of a trial's submission by the task and the grader that are here, whatever was recorded."""
    file, then = folder.file, folder.grade
    task = known.recorded_task(file.task).in_edition(file.edition)
    submission = folder.submission
    if submission and not submission.exists():
        raise RecordError(f"the submission of {folder.path.name} is not in the record")
    data = load_prepared(home, task, file.edition, file.variant)
    traces = read_traces(folder, read_events(folder.events)) if task.integrity or file.claim else None
    again = grade_submission(submission, data, home=home, sandbox=sandbox, isolated=True, traces=traces)
    kept = {"sealed": then.sealed, "rerun": then.rerun} if then else {}
    return again.model_copy(update=kept)


def grades_agree(then: Grade, now: Grade) -> bool:
    """Whether two grades of a submission say the same; measurements of time may differ as much as they do by chance."""
    if then.success != now.success or then.valid_submission != now.valid_submission:
        return False
    if not now.deterministic:
        return compare_speeds(then, now, None, may_succeed=bool(now.success))[0] != "differs"
    return _compare_scores(then, now) == "agrees"


def _rerun_code(
    folder: TrialFolder, grade: Grade, file: TrialFile, task: Task, home: Home, sandbox: SandboxName
) -> Iterator[RecordFinding]:
    """Run submitted code once more, as at its first grading, and compare the score of what it makes with the record.

    How long it may run and what it may use is not the record's to decide, and no folder of the machine that the record
    names is shown to it.
    """
    name, events = folder.path.name, read_events(folder.events)
    reran = find_rerun(events)
    if reran is None or grade.rerun is None:
        yield RecordFinding(name, "grade", "code was to be submitted, but the record does not show that it was rerun")
        return
    if reran.cause or reran.code is None or reran.first is None:
        yield RecordFinding(name, CODE, f"not rerun: it was not graded ({reran.cause})", "remark")
        return
    contents = ContentStore(folder.snapshots)
    try:
        code = check_code(decode_code(contents.get_by_digest(reran.code, 2 * MAX_CODE)))
        first = contents.get_by_digest(reran.first)
    except RefusedCode as error:
        yield RecordFinding(name, "grade", f"not rerun: {error}")
        return
    except RecordError:
        yield RecordFinding(name, CODE, "not rerun: the record does not have the code", "remark")
        return
    if file.weights:
        yield RecordFinding(
            name, "grade", f"code not rerun: it read the weights in {quote(file.weights)}", "unverified"
        )
        return
    limited = _limit(file, task, home)
    began = next((event.time for event in events if isinstance(event, LabOpened)), events[0].time)
    with TemporaryDirectory(prefix="assay-rerun-") as kept:
        labs = CodeLabs(limited, task, home, ContentStore(Path(kept)), sandbox)
        try:
            data = load_prepared(home, task, file.edition, file.variant)
            content, once_more = anyio.run(rerun_code, labs, code, first, None, began)
            again, before = (
                None if each is None else grade_submission(each, data, home=home, sandbox=sandbox, isolated=True)
                for each in (content, labs.rows(first))
            )
        except AssayError as error:
            yield RecordFinding(name, "grade", f"code not rerun: {error}", "unverified")
            return
    if again is None or before is None:
        message = f"rerun, {once_more.reason}; recorded was a score of {grade.score}"
        is_short = once_more.cause in ("time limit", "error") and limited != file
        yield RecordFinding(name, "grade", message, "unverified" if is_short else "error")
        return
    if not scores_agree(grade, again, find_tolerance(grade, again)):
        yield RecordFinding(name, "grade", f"rerun, the code scores {again.score}; recorded was {grade.score}")
    agree = scores_agree(before, grade, find_tolerance(before, grade))
    if before.score != grade.rerun.first_score or agree is (grade.rerun.cause is not None):
        yield RecordFinding(name, "grade", "whether the code was reproduced does not follow from the record")


def _limit(file: TrialFile, task: Task, home: Home) -> TrialFile:
    """Return a trial with at most the time of its task, and at most most of this machine."""
    resources = file.resources
    limits = {
        "cores": min(resources.cores, os.cpu_count() or 1),
        "memory": min(resources.memory, max(task.resources.memory, machine_memory() * 3 // 4)),
        "disk": min(resources.disk, max(task.resources.disk, shutil.disk_usage(home.root).free // 2)),
        "gpus": 0,
    }
    time = min(file.budget.time, task.budget_for(file.variant).time)
    return file.model_copy(
        update={
            "budget": file.budget.model_copy(update={"time": time}),
            "resources": resources.model_copy(update=limits),
        }
    )


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
        traces = read_traces(folder, read_events(folder.events)) if task.integrity or file.claim else None
        again = grade_submission(submission, data, home=home, sandbox=sandbox, isolated=True, traces=traces)
    except AssayError as error:
        yield RecordFinding(name, "grade", f"not regraded: {error}", "unverified")
        return
    if again.deterministic:
        verdict, reason = _compare_scores(grade, again), ""
    else:
        best = Judgement(score=(again.score or 0.0) * (1 + (again.tolerance or 0.0)), tolerance=0.0)
        may_succeed = bool(make_grade(submission, data, best).success)
        verdict, reason = compare_speeds(grade, again, read_load(), may_succeed=may_succeed)
    if verdict != "agrees":
        message = f"regraded, the score is {again.score}; recorded was {grade.score}"
        level: Level = "error" if verdict == "differs" else "unverified"
        yield RecordFinding(name, "grade", f"not verified: {message}: {reason}" if reason else message, level)
        return
    # The recorded score may differ by rounding, or as a measurement does; everything else must follow from it.
    score = float(grade.not_finite) if grade.not_finite else grade.score
    judgement = Judgement(score=score, why=again.why, tolerance=grade.tolerance, sealed=again.sealed, noise=grade.noise)
    if task.integrity or file.claim:
        if traces is None and grade.integrity:
            message = "integrity is not verified: the record does not have the files of the workspace"
            yield RecordFinding(name, "grade", message, "unverified")
        known = grade if traces is None else again
        judgement = replace(judgement, integrity=known.integrity, success=known.success)
    expected = make_grade(submission, data, judgement).model_copy(update={"second": again.second})
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


def _compare_scores(then: Grade, now: Grade) -> Verdict:
    if then.score is None or now.score is None:
        equal = then.score == now.score and then.not_finite == now.not_finite
    else:
        equal = math.isclose(then.score, now.score, rel_tol=1e-9, abs_tol=_ROUNDING)
    return "agrees" if equal else "differs"


def compare_speeds(then: Grade, now: Grade, load: float | None, *, may_succeed: bool) -> tuple[Verdict, str]:
    """Compare a recorded measurement of speed with a new one; a reason says why it is unclear whether they agree.

    How much the new one may differ is neither the record's nor the submission's to decide: code that is slow at random
    makes the measurement imprecise, and an imprecise one verifies nothing. A success must be one by the lower end of
    the new measurement, too; `may_succeed` says whether it is one by the upper end.
    """
    if then.score is None or now.score is None or min(then.score, now.score) <= 0:
        return ("agrees" if then.score == now.score else "differs"), ""
    apart = max(then.score / now.score, now.score / then.score)
    busy = describe_load(load)
    imprecise = now.tolerance is None or now.tolerance > _MAX_TOLERANCE
    if apart > (_OTHER_SPEED_IF_BUSY if busy or imprecise else _OTHER_SPEED):
        return "differs", ""
    if then.success and not may_succeed and not (busy or imprecise):
        return "differs", ""
    if busy:
        return "unclear", busy
    if imprecise:
        return "unclear", f"the new measurement is too imprecise (tolerance {now.tolerance}; at most {_MAX_TOLERANCE})"
    if apart > _SAME_SPEED:
        return "unclear", f"they differ by a factor of {apart:.2f}; at most {_SAME_SPEED} is chance"
    if then.success and not now.success:
        return "unclear", "the new measurement is no success, by the lower end of its interval"
    return "agrees", ""
