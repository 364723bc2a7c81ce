"""Our grade as a score of Inspect."""

import math
from typing import Any

from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState
from inspect_ai.util import sandbox

from assay.core.errors import UsageError
from assay.core.home import Home
from assay.grading.result import Grade
from assay.interop.inspect.machine import machine
from assay.interop.inspect.sandbox import LabSandbox
from assay.tasks import Task

_TOLD = {
    "edition", "variant", "improvement", "percentile", "rank", "panel_size", "baseline", "success", "beyond_spread",
    "indicative", "quirks", "repairs", "not_finite", "deterministic", "tolerance",
}  # fmt: skip


@scorer(metrics={"success": [mean(), stderr()], "valid": [mean()]})
def grade() -> Scorer:
    """Judge what lies in the lab as submission, outside of it, with answers that were never in it."""

    async def score(state: TaskState, target: Target) -> Score:
        place = _lab_sandbox()
        content, why = await place.submission()
        judged = await _graded(content, place)
        about = {"sealed": place.lab.sealing.sealed and judged.sealed is not False, "graded_before": place.gradings}
        place.gradings += 1
        return score_of(judged, place.data.task, why, sandbox=place.lab.sealing.sandbox, **about)

    return score


def score_of(grade: Grade | None, task: Task, why: str | None = None, **about: Any) -> Score:
    """A grade as Inspect keeps it; None is a trial that came to no grade, which counts as a failure.

    The score itself has no mean: tasks have different metrics. Success has one, over all samples but those of tasks
    that do not say what success is.
    """
    valid = grade is not None and grade.valid_submission
    success = grade.success if grade is not None and valid else False
    score = grade.score if grade is not None and grade.score is not None else math.nan
    told = grade.model_dump(mode="json", include=_TOLD) if grade else {}
    return Score(
        value={"score": score, "success": math.nan if success is None else int(success), "valid": int(valid)},
        explanation=f"{task.metric.name}: {score}; {task.metric.direction} is better" if valid else why or _why(grade),
        metadata={"valid": valid, "medal": grade.medal if grade else None, "success": success, **told, **about},
    )


def _why(grade: Grade | None) -> str | None:
    return grade.why if grade else None


def _lab_sandbox() -> LabSandbox:
    try:
        return sandbox().as_type(LabSandbox)
    except TypeError:
        raise UsageError("Assay's tasks are graded from Assay's labs; leave out --sandbox") from None


async def _graded(content: bytes | None, place: LabSandbox) -> Grade:
    from assay.grading.grade import grade_submission_async

    task, home = place.data.task, Home.default()
    if not task.timed:
        return await grade_submission_async(content, task, place.data, home=home, sandbox=place.wanted.sandbox)
    async with machine().alone():
        return await grade_submission_async(content, task, place.data, home=home, sandbox=place.wanted.sandbox)
