"""The grade of a submission as a score of Inspect."""

import math
from typing import Any

from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState
from inspect_ai.util import sandbox

from assay.core.errors import UsageError
from assay.core.home import Home
from assay.grading.result import Grade
from assay.interop.inspect.machine_lock import machine_lock
from assay.interop.inspect.sandbox import LabSandbox
from assay.tasks import Task

_METADATA = {
    "edition", "variant", "improvement", "percentile", "rank", "panel_size", "baseline", "success",
    "success_published", "beyond_spread", "indicative", "quirks", "repairs", "not_finite", "deterministic", "tolerance",
}  # fmt: skip


@scorer(metrics={"success": [mean(), stderr()], "valid": [mean()]})
def grade() -> Scorer:
    """Grade the submission in the lab, outside of it, with answers that were never in it."""

    async def score(state: TaskState, target: Target) -> Score:
        lab_sandbox = _lab_sandbox()
        content, reason = await lab_sandbox.submission()
        result = await _grade(content, lab_sandbox)
        sealing = lab_sandbox.lab.sealing
        graded_before = lab_sandbox.gradings
        lab_sandbox.gradings += 1
        return to_score(
            result,
            lab_sandbox.data.task,
            reason,
            sandbox=sealing.sandbox,
            sealed=sealing.sealed and result.sealed is not False,
            graded_before=graded_before,
        )

    return score


def to_score(grade: Grade | None, task: Task, reason: str | None = None, **metadata: Any) -> Score:
    """Return a grade as a score of Inspect; a trial without a grade counts as a failure.

    The score itself has no mean, because tasks have different metrics. Success has one, over all samples except those
    of tasks that do not define success.
    """
    valid = grade is not None and grade.valid_submission
    success = grade.success if grade is not None and (valid or grade.success is None) else False
    score = grade.score if grade is not None and grade.score is not None else math.nan
    details = grade.model_dump(mode="json", include=_METADATA) | {"score_error": grade.score_error} if grade else {}
    if valid:
        explanation: str | None = f"{task.metric.name}: {score}; {task.metric.direction} is better"
    else:
        explanation = reason or (grade.why if grade else None)
    return Score(
        value={"score": score, "success": math.nan if success is None else int(success), "valid": int(valid)},
        explanation=explanation,
        metadata={"valid": valid, "medal": grade.medal if grade else None, "success": success, **details, **metadata},
    )


def _lab_sandbox() -> LabSandbox:
    try:
        return sandbox().as_type(LabSandbox)
    except TypeError:
        raise UsageError("Assay's tasks need Assay's own sandbox; remove --sandbox") from None


async def _grade(content: bytes | None, lab_sandbox: LabSandbox) -> Grade:
    from assay.grading.grade import grade_submission_async

    data, home = lab_sandbox.data, Home.default()
    if not data.task.timed:
        return await grade_submission_async(content, data, home=home, sandbox=lab_sandbox.spec.sandbox)
    async with machine_lock().exclusive():
        return await grade_submission_async(content, data, home=home, sandbox=lab_sandbox.spec.sandbox)
