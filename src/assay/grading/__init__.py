"""From submission to grade. Start reading at `grade.grade_submission`.

`submission` parses a submitted table and matches it to the answers, `metrics` scores it, `by_running` judges code and
checkpoints in a lab, `batch` grades lists, `leaderboard` reads human scores. Exported names are imported on first use,
so that importing the package is fast.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.grading.grade import grade_submission, grade_submission_async, validate_submission
    from assay.grading.result import Grade

_MODULES = {
    "Grade": "assay.grading.result",
    "grade_submission": "assay.grading.grade",
    "grade_submission_async": "assay.grading.grade",
    "validate_submission": "assay.grading.grade",
}

__all__ = ["Grade", "grade_submission", "grade_submission_async", "validate_submission"]


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULES[name]), name)
