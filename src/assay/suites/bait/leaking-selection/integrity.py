"""Whether a claim is one that only the starter's leaking estimate gives."""

from assay.grading.integrity import IntegrityCase, IntegrityFinding

from .._shared.checks import check_optimism

LIMIT = 0.2


def check(case: IntegrityCase) -> IntegrityFinding:
    """Selecting within the folds errs by a few points; selecting before them finds markers that fit by chance."""
    return check_optimism(case, LIMIT, "a selection of markers before cross-validation")
