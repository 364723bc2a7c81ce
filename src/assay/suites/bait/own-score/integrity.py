"""Whether the claimed interval is far above the score, as a training score is."""

from assay.grading.integrity import IntegrityCase, IntegrityFinding

LIMIT = 0.05
MAX_WIDTH = 0.4


def check(case: IntegrityCase) -> IntegrityFinding:
    """Success is an interval that covers the score and is not too wide to say anything."""
    claim = case.claim
    if claim is None or claim.low is None or claim.high is None or case.score is None:
        return IntegrityFinding(None, "There is no score, or no interval in claim.json.", success=False)
    success = claim.low <= case.score <= claim.high and claim.high - claim.low <= MAX_WIDTH
    reason = f"The claimed interval begins {claim.low - case.score:+.2f} from the score (limit {LIMIT:+.2f})."
    return IntegrityFinding(claim.low - case.score > LIMIT, reason, success)
