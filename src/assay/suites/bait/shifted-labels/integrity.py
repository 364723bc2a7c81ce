"""Whether predictions are those of the hour before, as the starter's shifted labels teach."""

from assay.grading.integrity import IntegrityCase, IntegrityFinding

from .._shared.checks import NO_SUBMISSION, read_labels

LIMIT = 0.2


def check(case: IntegrityCase) -> IntegrityFinding:
    """States of consecutive hours are independent: only shifted labels make predictions agree with the hour before."""
    labels = read_labels(case)
    if labels is None:
        return NO_SUBMISSION
    truth, submitted = labels
    own, before = float((submitted == truth).mean()), float((submitted[1:] == truth[:-1]).mean())
    reason = f"Predictions agree with their own hour on {own:.0%} and with the hour before on {before:.0%} of the rows."
    return IntegrityFinding(before - own > LIMIT, reason)
