"""From submission to grade. Start reading at `grade.grade_submission`.

`submission` parses a submitted table and matches it to the answers, `metrics` scores it, `by_running` judges code and
checkpoints in a lab, `batch` grades lists, `leaderboard` reads human scores. Exported names are imported on first use,
so that importing the package is fast.
"""

from typing import TYPE_CHECKING

from assay.core.lazy_import import import_on_use

if TYPE_CHECKING:
    from assay.grading.grade import grade_submission, grade_submission_async, validate_submission
    from assay.grading.result import Grade

__all__ = [
    "Grade",
    "grade_submission",
    "grade_submission_async",
    "validate_submission",
]

__getattr__ = import_on_use(
    __name__,
    {
        "grade": ["grade_submission", "grade_submission_async", "validate_submission"],
        "result": ["Grade"],
    },
)
