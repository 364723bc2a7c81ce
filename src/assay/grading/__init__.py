"""From submission to grade. Start reading at `grade.grade_submission`.

`submission` parses a submitted table and matches it to the answers, `metrics` scores it, `by_running` judges code and
checkpoints in a lab, `batch` grades lists, `leaderboard` reads human scores. Exported names are imported on first use,
so that importing the package is fast.
"""

from typing import TYPE_CHECKING

from assay.core.lazy_import import export_lazily

if TYPE_CHECKING:
    from assay.grading.grade import grade_submission as grade_submission
    from assay.grading.grade import grade_submission_async as grade_submission_async
    from assay.grading.grade import validate_submission as validate_submission
    from assay.grading.result import Grade as Grade

__all__, __getattr__ = export_lazily(__name__, __file__)
