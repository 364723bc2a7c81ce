"""From submission to grade: metrics, checks, medals. Names are resolved when asked for, so that importing is light."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.grading.grade import grade_submission, grade_submission_async, validate_submission
    from assay.grading.result import Grade

_HOME_OF = {
    "Grade": "assay.grading.result",
    "grade_submission": "assay.grading.grade",
    "grade_submission_async": "assay.grading.grade",
    "validate_submission": "assay.grading.grade",
}

__all__ = ["Grade", "grade_submission", "grade_submission_async", "validate_submission"]


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME_OF[name]), name)
