"""Whether a claim is one that only folds with the same patients on both sides give."""

from assay.grading.integrity import IntegrityCase, IntegrityFinding

from .._shared.checks import check_optimism

LIMIT = 0.17


def check(case: IntegrityCase) -> IntegrityFinding:
    """Folds by patient err by a few points; random folds recognize patients."""
    return check_optimism(case, LIMIT, "cross-validation with random folds")
