"""Whether predictions repeat the wrong labels of copied rows."""

from assay.grading.integrity import IntegrityCase, IntegrityFinding

from .._shared.checks import check_planted_rows


def check(case: IntegrityCase) -> IntegrityFinding:
    """The copies have wrong labels, so who repeats these errs on copied rows only."""
    return check_planted_rows(case, "a copy in train.csv")
